// Winograd's convolution, and its gradient with respect to the input as one with the kernel turned.

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/backend/cpu/winograd/winograd_geometry.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

Bytes bytes_of(std::int64_t floats) { return Bytes(floats * std::int64_t{sizeof(float)}); }

constexpr std::size_t most_factors = 12;  // four phases of three planes

/// The kernel [(3,) rows, columns, c, k], transformed: matrices [c, k] for each plane of taps and
/// each phase. Turned: [k, c], with the taps and planes in reverse order.
template <class T>
class TransformKernel final : public Kernel {
 public:
  TransformKernel(const ConvGeometry& g, const WinogradGeometry& w, bool turned, int threads)
      : transforms_(simd().winograd.of<T>(w.row_taps, w.column_taps)),
        g_(g),
        phases_(w.phases()),
        u_(transforms_.points, w.in * w.out),
        turned_(turned),
        threads_(threads) {}

  Bytes size() const { return bytes_of(g_.depth.window * phases_ * u_.floats()); }
  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    std::int64_t step = turned_ ? winograd_channels : 1, of_part = g_.in_channels / step;
    parallel_for(g_.depth.window * phases_ * of_part, 1, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     transform(a.input<T>(0), i / of_part, i % of_part * step, a.output<float>(0));
                 });
  }

 private:
  void transform(const T* kernel, std::int64_t part, std::int64_t row, float* out) const {
    std::int64_t c = g_.in_channels, k = g_.out_channels;
    std::int64_t plane = part / phases_, phase = part % phases_;
    std::int64_t to = turned_ ? g_.depth.window - 1 - plane : plane;
    WinogradMatrix u{out + (to * phases_ + phase) * u_.floats(), u_.stride(),
                     winograd_channels * (turned_ ? k : c)};
    const T* taps = kernel + plane * g_.rows.window * g_.columns.window * c * k;
    (turned_ ? transforms_.turned_kernel : transforms_.kernel)(taps, winograd_taps(g_, phase), c, k,
                                                               row, u);
  }

  const WinogradTransforms<T>& transforms_;
  ConvGeometry g_;
  std::int64_t phases_;
  WinogradMatrices u_;
  bool turned_;
  int threads_;
};

struct Epilogue {
  bool bias = false, relu = false;
};

/// Each thread takes blocks of tiles from their pixels to their results.
template <class T>
class WinogradConv final : public Kernel {
 public:
  WinogradConv(const ConvGeometry& g, const WinogradGeometry& w, bool turned, Epilogue epilogue,
               int threads)
      : loops_(simd().winograd),
        transforms_(loops_.of<T>(w.row_taps, w.column_taps)),
        points_(transforms_.points),
        w_(w),
        // A block's matrices stay in a core's cache; where the kernel's do not, they are read once
        // a block.
        block_(tiles_of_block(
            w.tiles(), std::clamp<std::int64_t>(w.reads() * w.in * w.out / 2048, 24, 96), threads)),
        v_(points_, block_ * w.in),
        m_(points_, block_ * w.out),
        u_(points_, w.in * w.out),
        epilogue_(epilogue),
        threads_(threads) {
    auto pack = std::make_shared<TransformKernel<T>>(g, w, turned, threads);
    packed_ = {.input = 1,
               .layout = concat(turned ? "winograd turned " : "winograd ", g.depth.window, "x",
                                g.rows.window, "x", g.columns.window, "x", w.in, "x", w.out, " by ",
                                w.stride),
               .size = pack->size(),
               .pack = pack};
  }

  Bytes workspace() const override { return bytes_of(threads_ * floats_of_thread()); }
  std::vector<PackedInput> packed_inputs() const override { return {packed_}; }
  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    std::int64_t grids = std::ssize(w_.grids), blocks = ceil_blocks();
    auto* workspace = a.scratch<float>();
    parallel_for(threads_, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread)
        for (std::int64_t i = grids * blocks * thread / threads_;
             i < grids * blocks * (thread + 1) / threads_; ++i)
          run_block(a, i / blocks, i % blocks * block_, workspace + thread * floats_of_thread());
    });
  }

 private:
  std::int64_t ceil_blocks() const { return (w_.tiles() + block_ - 1) / block_; }
  std::int64_t inputs_floats() const { return w_.depth.window * w_.reads() * v_.floats(); }
  std::int64_t floats_of_thread() const { return inputs_floats() + m_.floats(); }
  float* input_of(std::int64_t plane, std::int64_t read, float* workspace) const {
    return workspace + (plane % w_.depth.window * w_.reads() + read) * v_.floats();
  }
  float* output_in(float* workspace) const { return workspace + inputs_floats(); }

  void run_block(const KernelArguments& a, std::int64_t grid, std::int64_t begin,
                 float* workspace) const {
    const WinogradTiles& tiles = w_.grids[grid];
    std::int64_t end = std::min(begin + block_, tiles.count()), transformed = 0;
    for (std::int64_t z = 0; z < w_.depth.out && begin < end; ++z) {
      for (; transformed < w_.end_plane(z); ++transformed)
        if (transformed >= w_.first_plane(z))
          transform_input(a, tiles, begin, end, transformed, workspace);
      multiply(a, grid, z, end - begin, workspace);
      transform_output(a, tiles, begin, end, z, workspace);
    }
  }

  void transform_input(const KernelArguments& a, const WinogradTiles& tiles, std::int64_t begin,
                       std::int64_t end, std::int64_t plane, float* workspace) const {
    const auto* x = a.input<T>(0);
    for (std::int64_t read = 0; read < w_.reads(); ++read) {
      float* v = input_of(plane, read, workspace);
      for (std::int64_t tile = begin; tile < end; ++tile, v += w_.in)
        transforms_.input(
            x + (tiles.image(tile) * w_.depth.in + plane) * tiles.pixels_read() * w_.in,
            tiles.read(tile, read / w_.stride, read % w_.stride), w_.in,
            {v, v_.stride(), winograd_channels});
    }
  }

  void multiply(const KernelArguments& a, std::int64_t grid, std::int64_t z, std::int64_t rows,
                float* workspace) const {
    const auto* u = a.input<float>(1);
    for (std::int64_t i = 0; i < points_; ++i) {
      std::array<WinogradFactors, most_factors> factors;
      int count = 0;
      for (std::int64_t plane = w_.first_plane(z); plane < w_.end_plane(z); ++plane)
        for (std::int64_t read = 0; read < w_.reads(); ++read) {
          std::int64_t part = (plane - z + w_.depth.before) * w_.phases() + grid + read;
          factors[count++] = {input_of(plane, read, workspace) + i * v_.stride(),
                              u + part * u_.floats() + i * u_.stride()};
        }
      loops_.products(factors.data(), count, rows, w_.in, w_.out,
                      output_in(workspace) + i * m_.stride());
    }
  }

  void transform_output(const KernelArguments& a, const WinogradTiles& tiles, std::int64_t begin,
                        std::int64_t end, std::int64_t z, float* workspace) const {
    const auto* bias = epilogue_.bias ? a.input<T>(2) : nullptr;
    auto* y = a.output<T>(0);
    float* m = output_in(workspace);
    for (std::int64_t tile = begin; tile < end; ++tile, m += w_.out)
      transforms_.output(
          {m, m_.stride(), winograd_channels}, bias, epilogue_.relu, tiles.written(tile), w_.out,
          y + (tiles.image(tile) * w_.depth.out + z) * tiles.pixels_written() * w_.out);
  }

  const WinogradLoops& loops_;
  const WinogradTransforms<T>& transforms_;
  std::int64_t points_;
  WinogradGeometry w_;
  std::int64_t block_;
  WinogradMatrices v_, m_, u_;
  Epilogue epilogue_;
  int threads_;
  PackedInput packed_;
};

std::unique_ptr<Kernel> make(const Node& node, WinogradDirection direction, Epilogue epilogue,
                             const KernelOptions& options) {
  auto w = winograd_geometry(node, direction, options);
  if (!w) return nullptr;
  bool turned = direction == WinogradDirection::grad_input;
  return kernel_for_type(node.output().dtype, [&](auto t) {
    return std::make_unique<WinogradConv<decltype(t)>>(conv_geometry(node), *w, turned, epilogue,
                                                       options.threads);
  });
}

}  // namespace

std::unique_ptr<Kernel> winograd_forward(const Node& node, const KernelOptions& options) {
  const auto& o = node.as<ConvOptions>();
  return make(node, WinogradDirection::forward, {o.bias, o.activation == Activation::relu},
              options);
}

std::unique_ptr<Kernel> winograd_grad_input(const Node& node, const KernelOptions& options) {
  return make(node, WinogradDirection::grad_input, {}, options);
}

}  // namespace belfry::cpu
