#include "belfry/framework/backend/cpu/winograd.h"

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

constexpr int points = 36;
constexpr std::int64_t floats_of_a_line = 16;
constexpr std::int64_t fewest_tiles = 16;  // below, transforming the kernel costs what is saved

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The distance of a matrix of so many elements from the next. Beginnings a power of two apart
/// would share a few sets of the cache.
std::int64_t stride_of(std::int64_t elements) { return elements + floats_of_a_line; }

Bytes bytes_of(std::int64_t floats) { return Bytes(floats * std::int64_t{sizeof(float)}); }

/// The 4x4 tiles of the planes [rows.out, columns.out] of all images.
class Tiles {
 public:
  explicit Tiles(const ConvGeometry& g)
      : down_(ceil_div(g.rows.out, 4)), across_(ceil_div(g.columns.out, 4)), batch_(g.batch) {}

  std::int64_t count() const { return batch_ * down_ * across_; }
  std::int64_t image(std::int64_t tile) const { return tile / (down_ * across_); }
  std::int64_t row(std::int64_t tile) const { return tile / across_ % down_ * 4; }
  std::int64_t column(std::int64_t tile) const { return tile % across_ * 4; }

 private:
  std::int64_t down_, across_, batch_;
};

/// As many blocks as there are threads, or a multiple; at most about `most` tiles each.
std::int64_t tiles_of_block(std::int64_t tiles, std::int64_t most, int threads) {
  std::int64_t blocks = ceil_div(ceil_div(tiles, most), threads) * threads;
  return ceil_div(tiles, blocks);
}

bool suits(const Node& node, const ConvGeometry& g, const KernelOptions& options) {
  auto unit = [](const WindowAxis& axis) { return axis.stride == 1 && axis.dilation == 1; };
  bool window =
      g.rows.window == 3 && g.columns.window == 3 && (g.depth.window == 1 || g.depth.window == 3);
  bool channels = g.in_channels > 0 && g.in_channels % winograd_channels == 0 && g.out_channels > 0
                  && g.out_channels % winograd_channels == 0;
  std::int64_t tiles = Tiles(g).count();
  std::int64_t pixels = g.batch * g.rows.out * g.columns.out;
  return !options.exact_convolutions && node.output().dtype == DType::f32 && g.groups == 1 && window
         && unit(g.depth) && unit(g.rows) && unit(g.columns) && channels
         && tiles * g.depth.out >= fewest_tiles && tiles >= 2 * options.threads
         && pixels >= 8 * tiles;
}

/// Where a convolution's gradient with respect to its input is a convolution itself.
WindowAxis reversed(const WindowAxis& axis) {
  WindowAxis out = axis;
  std::swap(out.in, out.out);
  out.before = axis.window - 1 - axis.before;
  out.after = axis.window - 1 - axis.after;
  return out;
}
ConvGeometry reversed(const ConvGeometry& g) {
  ConvGeometry out = g;
  std::swap(out.in_channels, out.out_channels);
  out.depth = reversed(g.depth);
  out.rows = reversed(g.rows);
  out.columns = reversed(g.columns);
  return out;
}

/// The kernel [(3,) 3, 3, c, k], transformed: 36 matrices [c, k] for each plane of taps. Turned:
/// [k, c], with the taps in reverse order.
class TransformKernel final : public Kernel {
 public:
  TransformKernel(const ConvGeometry& g, bool turned, int threads)
      : loops_(simd().winograd),
        planes_(g.depth.window),
        c_(g.in_channels),
        k_(g.out_channels),
        turned_(turned),
        threads_(threads) {}

  static Bytes size(const ConvGeometry& g) {
    return bytes_of(g.depth.window * points * stride_of(g.in_channels * g.out_channels));
  }

  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    std::int64_t step = turned_ ? winograd_channels : 1, of_plane = c_ / step;
    parallel_for(planes_ * of_plane, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t plane = i / of_plane, to = turned_ ? planes_ - 1 - plane : plane;
        const float* taps = static_cast<const float*>(a.inputs[0]) + plane * 9 * c_ * k_;
        std::int64_t stride = stride_of(c_ * k_), rows = turned_ ? k_ : c_;
        WinogradMatrix u{static_cast<float*>(a.outputs[0]) + to * points * stride, stride,
                         winograd_channels * rows};
        (turned_ ? loops_.turned_kernel : loops_.kernel)(taps, c_, k_, i % of_plane * step, u);
      }
    });
  }

 private:
  const WinogradLoops& loops_;
  std::int64_t planes_, c_, k_;
  bool turned_;
  int threads_;
};

/// Transformed tiles of the planes that a window reads, one of images: plane z lies in z % window.
class Planes {
 public:
  Planes(const ConvGeometry& g, const Tiles& tiles) : g_(g), tiles_(tiles) {}

  /// The input's tile `tile` of plane `z`.
  const float* plane(const float* x, std::int64_t tile, std::int64_t z) const {
    return x + (tiles_.image(tile) * g_.depth.in + z) * g_.rows.in * g_.columns.in * g_.in_channels;
  }
  WinogradTile place(std::int64_t tile) const {
    return {tiles_.row(tile) - g_.rows.before, tiles_.column(tile) - g_.columns.before, g_.rows.in,
            g_.columns.in};
  }
  /// The planes that the window at `z` reads.
  std::int64_t first(std::int64_t z) const {
    return std::max<std::int64_t>(z - g_.depth.before, 0);
  }
  std::int64_t end(std::int64_t z) const {
    return std::min(z - g_.depth.before + g_.depth.window, g_.depth.in);
  }

 private:
  const ConvGeometry& g_;
  const Tiles& tiles_;
};

struct Epilogue {
  bool bias = false, relu = false;
};

/// A convolution, or the gradient with respect to the input as one. Each thread takes blocks of
/// tiles from their pixels to their results.
class WinogradConv final : public Kernel {
 public:
  /// `g` is that of the convolution that runs. Turned: its kernel is that of reversed(g), turned.
  WinogradConv(const ConvGeometry& g, bool turned, Epilogue epilogue, int threads)
      : loops_(simd().winograd),
        g_(g),
        tiles_(g),
        planes_(g_, tiles_),
        epilogue_(epilogue),
        threads_(threads) {
    // A block's matrices stay in a core's cache; where the kernel's do not, they are read once a
    // block.
    std::int64_t most = std::clamp<std::int64_t>(g.in_channels * g.out_channels / 2048, 24, 96);
    block_ = tiles_of_block(tiles_.count(), most, threads);
    ConvGeometry kernel = turned ? reversed(g) : g;
    packed_ = {.input = 1,
               .layout = turned ? "winograd turned" : "winograd",
               .size = TransformKernel::size(kernel),
               .pack = std::make_shared<TransformKernel>(kernel, turned, threads)};
  }

  Bytes workspace() const override {
    return bytes_of(threads_ * (g_.depth.window * input_floats() + output_floats()));
  }
  std::vector<PackedInput> packed_inputs() const override { return {packed_}; }
  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    std::int64_t blocks = ceil_div(tiles_.count(), block_);
    auto* workspace = static_cast<float*>(a.workspace);
    parallel_for(threads_, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread) {
        float* mine = workspace + thread * (g_.depth.window * input_floats() + output_floats());
        for (std::int64_t i = blocks * thread / threads_; i < blocks * (thread + 1) / threads_; ++i)
          run_block(a, i * block_, std::min((i + 1) * block_, tiles_.count()), mine);
      }
    });
  }

 private:
  std::int64_t input_floats() const { return points * stride_of(block_ * g_.in_channels); }
  std::int64_t output_floats() const { return points * stride_of(block_ * g_.out_channels); }

  void run_block(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                 float* workspace) const {
    std::int64_t transformed = 0;
    for (std::int64_t z = 0; z < g_.depth.out; ++z) {
      for (; transformed < planes_.end(z); ++transformed)
        if (transformed >= planes_.first(z)) transform_input(a, begin, end, transformed, workspace);
      multiply(a, z, end - begin, workspace);
      transform_output(a, begin, end, z, workspace);
    }
  }

  float* input_of(std::int64_t plane, float* workspace) const {
    return workspace + plane % g_.depth.window * input_floats();
  }
  float* output_in(float* workspace) const { return workspace + g_.depth.window * input_floats(); }

  void transform_input(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                       std::int64_t plane, float* workspace) const {
    const auto* x = static_cast<const float*>(a.inputs[0]);
    float* v = input_of(plane, workspace);
    for (std::int64_t tile = begin; tile < end; ++tile, v += g_.in_channels)
      loops_.input(planes_.plane(x, tile, plane), planes_.place(tile), g_.in_channels,
                   {v, stride_of(block_ * g_.in_channels), winograd_channels});
  }

  void multiply(const KernelArguments& a, std::int64_t z, std::int64_t rows,
                float* workspace) const {
    const auto* u = static_cast<const float*>(a.inputs[1]);
    std::int64_t v_stride = stride_of(block_ * g_.in_channels),
                 m_stride = stride_of(block_ * g_.out_channels),
                 u_stride = stride_of(g_.in_channels * g_.out_channels);
    for (int i = 0; i < points; ++i) {
      std::array<WinogradFactors, 3> factors;
      int count = 0;
      for (std::int64_t plane = planes_.first(z); plane < planes_.end(z); ++plane) {
        std::int64_t tap = plane - z + g_.depth.before;
        factors[static_cast<std::size_t>(count++)] = {input_of(plane, workspace) + i * v_stride,
                                                      u + (tap * points + i) * u_stride};
      }
      loops_.products(factors.data(), count, rows, g_.in_channels, g_.out_channels,
                      output_in(workspace) + i * m_stride);
    }
  }

  void transform_output(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                        std::int64_t z, float* workspace) const {
    const auto* bias = epilogue_.bias ? static_cast<const float*>(a.inputs[2]) : nullptr;
    std::int64_t plane = g_.rows.out * g_.columns.out * g_.out_channels;
    float* m = output_in(workspace);
    for (std::int64_t tile = begin; tile < end; ++tile, m += g_.out_channels)
      loops_.output(
          {m, stride_of(block_ * g_.out_channels), winograd_channels}, bias, epilogue_.relu,
          {tiles_.row(tile), tiles_.column(tile), g_.rows.out, g_.columns.out}, g_.out_channels,
          static_cast<float*>(a.outputs[0]) + (tiles_.image(tile) * g_.depth.out + z) * plane);
  }

  const WinogradLoops& loops_;
  ConvGeometry g_;
  Tiles tiles_;
  Planes planes_;
  Epilogue epilogue_;
  int threads_;
  std::int64_t block_;
  PackedInput packed_;
};

/// The gradient with respect to the kernel: the transpose of all that the convolution does. All
/// threads work on one block of tiles at a time, and each sum is one thread's.
class WinogradConvGradKernel final : public Kernel {
 public:
  WinogradConvGradKernel(const ConvGeometry& g, int threads)
      : loops_(simd().winograd), g_(g), tiles_(g), planes_(g_, tiles_), threads_(threads) {
    // Each block reads and writes all sums, which more tiles make up for.
    std::int64_t c = g.in_channels, k = g.out_channels;
    std::int64_t most = std::clamp<std::int64_t>(c * k / (c + k), 96, 256);
    block_ = tiles_of_block(tiles_.count(), most, 1);
  }

  Bytes workspace() const override {
    return bytes_of(sums_floats() + g_.depth.window * input_floats() + output_floats());
  }
  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    auto* workspace = static_cast<float*>(a.workspace);
    std::fill_n(workspace, sums_floats(), 0.0f);
    for (std::int64_t begin = 0; begin < tiles_.count(); begin += block_)
      add_block(a, begin, std::min(begin + block_, tiles_.count()), workspace);
    transform_sums(workspace, static_cast<float*>(a.outputs[0]));
  }

 private:
  std::int64_t sums_stride() const { return stride_of(g_.in_channels * g_.out_channels); }
  std::int64_t sums_floats() const { return g_.depth.window * points * sums_stride(); }
  std::int64_t input_floats() const { return points * stride_of(block_ * g_.in_channels); }
  std::int64_t output_floats() const { return points * stride_of(block_ * g_.out_channels); }
  float* input_of(std::int64_t plane, float* workspace) const {
    return workspace + sums_floats() + plane % g_.depth.window * input_floats();
  }
  float* output_in(float* workspace) const {
    return workspace + sums_floats() + g_.depth.window * input_floats();
  }

  void add_block(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                 float* workspace) const {
    std::int64_t transformed = 0;
    for (std::int64_t z = 0; z < g_.depth.out; ++z) {
      for (; transformed < planes_.end(z); ++transformed)
        if (transformed >= planes_.first(z)) transform_input(a, begin, end, transformed, workspace);
      transform_output_gradient(a, begin, end, z, workspace);
      add_products(z, end - begin, workspace);
    }
  }

  void transform_input(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                       std::int64_t plane, float* workspace) const {
    const auto* x = static_cast<const float*>(a.inputs[0]);
    parallel_for(end - begin, 1, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        loops_.input(planes_.plane(x, begin + i, plane), planes_.place(begin + i), g_.in_channels,
                     {input_of(plane, workspace) + i * winograd_channels,
                      stride_of(block_ * g_.in_channels), (end - begin) * winograd_channels});
    });
  }

  void transform_output_gradient(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                                 std::int64_t z, float* workspace) const {
    const auto* dy = static_cast<const float*>(a.inputs[1]);
    std::int64_t plane = g_.rows.out * g_.columns.out * g_.out_channels;
    parallel_for(end - begin, 1, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        std::int64_t tile = begin + i;
        loops_.output_gradient(
            dy + (tiles_.image(tile) * g_.depth.out + z) * plane,
            {tiles_.row(tile), tiles_.column(tile), g_.rows.out, g_.columns.out}, g_.out_channels,
            {output_in(workspace) + i * winograd_channels, stride_of(block_ * g_.out_channels),
             (end - begin) * winograd_channels});
      }
    });
  }

  void add_products(std::int64_t z, std::int64_t rows, float* workspace) const {
    std::int64_t v_stride = stride_of(block_ * g_.in_channels),
                 m_stride = stride_of(block_ * g_.out_channels);
    std::int64_t first = planes_.first(z), planes = planes_.end(z) - first;
    if (planes <= 0) return;
    parallel_for(planes * points, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        std::int64_t plane = first + at / points, i = at % points;
        std::int64_t tap = plane - z + g_.depth.before;
        loops_.add_products(input_of(plane, workspace) + i * v_stride,
                            output_in(workspace) + i * m_stride, rows, g_.in_channels,
                            g_.out_channels, workspace + (tap * points + i) * sums_stride());
      }
    });
  }

  void transform_sums(float* sums, float* dg) const {
    std::int64_t c = g_.in_channels, k = g_.out_channels;
    parallel_for(g_.depth.window * c, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        loops_.kernel_gradient({sums + i / c * points * sums_stride(), sums_stride(), 0}, c, k,
                               i % c, dg + i / c * 9 * c * k);
    });
  }

  const WinogradLoops& loops_;
  ConvGeometry g_;
  Tiles tiles_;
  Planes planes_;
  int threads_;
  std::int64_t block_;
};

}  // namespace

std::unique_ptr<Kernel> winograd_forward(const Node& node, const KernelOptions& options) {
  ConvGeometry g = conv_geometry(node);
  if (!suits(node, g, options)) return nullptr;
  const auto& o = node.as<ConvOptions>();
  return std::make_unique<WinogradConv>(
      g, false, Epilogue{o.bias, o.activation == Activation::relu}, options.threads);
}

std::unique_ptr<Kernel> winograd_grad_input(const Node& node, const KernelOptions& options) {
  ConvGeometry g = conv_geometry(node), r = reversed(g);
  if (!suits(node, r, options)) return nullptr;
  return std::make_unique<WinogradConv>(r, true, Epilogue{}, options.threads);
}

std::unique_ptr<Kernel> winograd_grad_kernel(const Node& node, const KernelOptions& options) {
  ConvGeometry g = conv_geometry(node);
  if (!suits(node, g, options)) return nullptr;
  return std::make_unique<WinogradConvGradKernel>(g, options.threads);
}

}  // namespace belfry::cpu
