// Pools of channels-last images, vectorised over the channels.

#include <array>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry::cpu {
namespace {

constexpr std::int64_t most_taps = 256;  // of one pixel; larger windows are left to the reference

/// The sources or targets of each position along an axis: positions on the other side, and their
/// places in the window.
struct AxisTaps {
  std::vector<int> first;  ///< of each position in the two lists; one more at the end
  std::vector<std::int64_t> position, in_window;

  std::size_t begin(std::int64_t at) const { return first[at]; }
  std::size_t end(std::int64_t at) const { return begin(at + 1); }
  void add(std::int64_t other, std::int64_t k) {
    position.push_back(other);
    in_window.push_back(k);
  }
  void close() { first.push_back(position.size()); }
};

/// The inputs of each output.
AxisTaps inputs_of(const WindowAxis& axis) {
  AxisTaps taps{.first = {0}, .position = {}, .in_window = {}};
  for (std::int64_t o = 0; o < axis.out; ++o) {
    for (std::int64_t k = 0; k < axis.window; ++k)
      if (axis.inside(axis.input_at(o, k))) taps.add(axis.input_at(o, k), k);
    taps.close();
  }
  return taps;
}

/// The outputs that each input goes into.
AxisTaps outputs_of(const WindowAxis& axis) {
  AxisTaps taps{.first = {0}, .position = {}, .in_window = {}};
  for (std::int64_t i = 0; i < axis.in; ++i) {
    for (std::int64_t k = 0; k < axis.window; ++k)
      if (axis.output_at(i, k) >= 0) taps.add(axis.output_at(i, k), k);
    taps.close();
  }
  return taps;
}

/// Goes through the pixels of its result [batch, rows, columns, c] and calls a loop with the taps
/// of each on the other side.
template <class T>
class PoolKernel : public Kernel {
 public:
  PoolKernel(const PoolGeometry& g, bool gradient, int threads)
      : loops_(simd().pools.of<T>()),
        threads_(threads),
        batch_(g.batch),
        rows_(gradient ? g.rows.in : g.rows.out),
        columns_(gradient ? g.columns.in : g.columns.out),
        other_rows_(gradient ? g.rows.out : g.rows.in),
        other_columns_(gradient ? g.columns.out : g.columns.in),
        c_(g.channels),
        window_columns_(g.columns.window),
        row_taps_(gradient ? outputs_of(g.rows) : inputs_of(g.rows)),
        column_taps_(gradient ? outputs_of(g.columns) : inputs_of(g.columns)) {}

  std::string_view implementation() const override { return "simd"; }

 protected:
  /// The taps of one pixel: offsets on the other side, places in the window.
  struct Taps {
    int count = 0;
    std::array<std::int64_t, most_taps> offset;
    std::array<std::uint8_t, most_taps> in_window;
  };

  /// Calls body(taps, offset of the pixel) for all pixels, on several threads.
  template <class Body>
  void for_pixels(const Body& body) const {
    parallel_for(batch_ * rows_, rows_worth_sharing(columns_ * c_), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   Taps taps;
                   for (std::int64_t r = begin; r < end; ++r)
                     for (std::int64_t column = 0; column < columns_; ++column) {
                       collect(r / rows_, r % rows_, column, taps);
                       body(static_cast<const Taps&>(taps), (r * columns_ + column) * c_);
                     }
                 });
  }

  const PoolLoops<T>& loops_;

 private:
  void collect(std::int64_t image, std::int64_t row, std::int64_t column, Taps& taps) const {
    std::size_t n = 0;
    for (std::size_t r = row_taps_.begin(row); r < row_taps_.end(row); ++r) {
      std::int64_t start = (image * other_rows_ + row_taps_.position[r]) * other_columns_;
      std::int64_t in_window = row_taps_.in_window[r] * window_columns_;
      for (std::size_t k = column_taps_.begin(column); k < column_taps_.end(column); ++k, ++n) {
        taps.offset[n] = (start + column_taps_.position[k]) * c_;
        taps.in_window[n] = static_cast<std::uint8_t>(in_window + column_taps_.in_window[k]);
      }
    }
    taps.count = static_cast<int>(n);
  }

  int threads_;
  std::int64_t batch_, rows_, columns_, other_rows_, other_columns_, c_, window_columns_;
  AxisTaps row_taps_, column_taps_;

 protected:
  std::int64_t channels() const { return c_; }
};

template <class T>
class MaxPoolKernel final : public PoolKernel<T> {
  using typename PoolKernel<T>::Taps;
  using PoolKernel<T>::channels, PoolKernel<T>::for_pixels, PoolKernel<T>::loops_;

 public:
  MaxPoolKernel(const PoolGeometry& g, int threads) : PoolKernel<T>(g, false, threads) {}

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    for_pixels([&](const Taps& taps, std::int64_t at) {
      std::array<const T*, most_taps> pixels;
      for (std::int64_t t = 0; t < taps.count; ++t) pixels[t] = x + taps.offset[t];
      loops_.max(pixels.data(), taps.in_window.data(), taps.count, channels(), a.output<T>(0) + at,
                 a.output<std::uint8_t>(1) + at);
    });
  }
};

template <class T>
class MaxPoolGradKernel final : public PoolKernel<T> {
  using typename PoolKernel<T>::Taps;
  using PoolKernel<T>::channels, PoolKernel<T>::for_pixels, PoolKernel<T>::loops_;

 public:
  MaxPoolGradKernel(const PoolGeometry& g, int threads) : PoolKernel<T>(g, true, threads) {}

  void run(const KernelArguments& a, Stream&) override {
    const auto* dy = a.input<T>(0);
    const auto* index = a.input<std::uint8_t>(1);
    for_pixels([&](const Taps& taps, std::int64_t at) {
      std::array<const T*, most_taps> pixels;
      std::array<const std::uint8_t*, most_taps> winners;
      for (std::int64_t t = 0; t < taps.count; ++t) {
        pixels[t] = dy + taps.offset[t];
        winners[t] = index + taps.offset[t];
      }
      loops_.max_gradient(pixels.data(), winners.data(), taps.in_window.data(), taps.count,
                          channels(), a.output<T>(0) + at);
    });
  }
};

/// Both directions: an output is the sum of its inputs over their number, a gradient of an input
/// the sum of those of its outputs, each over that output's number of inputs.
template <class T>
class AveragePoolKernel final : public PoolKernel<T> {
  using typename PoolKernel<T>::Taps;
  using PoolKernel<T>::channels, PoolKernel<T>::for_pixels, PoolKernel<T>::loops_;

 public:
  AveragePoolKernel(const PoolGeometry& g, bool gradient, int threads)
      : PoolKernel<T>(g, gradient, threads), gradient_(gradient) {
    for (std::int64_t oh = 0; oh < g.rows.out; ++oh)
      for (std::int64_t ow = 0; ow < g.columns.out; ++ow)
        weights_.push_back(static_cast<float>(1.0 / g.count(oh, ow)));
  }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    for_pixels([&](const Taps& taps, std::int64_t at) {
      std::array<const T*, most_taps> pixels;
      std::array<float, most_taps> weights;
      for (std::int64_t t = 0; t < taps.count; ++t) {
        pixels[t] = x + taps.offset[t];
        weights[t] = weight(gradient_ ? taps.offset[t] : at);
      }
      loops_.weighted_sum(pixels.data(), weights.data(), taps.count, channels(),
                          a.output<T>(0) + at);
    });
  }

 private:
  /// The weight of the output pixel at this offset.
  float weight(std::int64_t offset) const {
    auto pixel = static_cast<std::size_t>(offset / channels());
    return weights_[pixel % weights_.size()];
  }

  bool gradient_;
  std::vector<float> weights_;  // [output rows, output columns]
};

bool suits(const PoolGeometry& g) {
  return g.channels > 0 && g.rows.window * g.columns.window <= most_taps;
}

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  const Tensor& x = node.input(0);
  PoolGeometry g = pool_geometry(node.op().name, x.shape(), node.as<Pool2dOptions>());
  if (!suits(g)) return nullptr;
  return kernel_for_type(x.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if (node.is(max_pool_op)) return std::make_unique<MaxPoolKernel<T>>(g, threads);
    return std::make_unique<AveragePoolKernel<T>>(g, false, threads);
  });
}

std::unique_ptr<Kernel> make_gradient(const Node& node, int threads) {
  const Tensor& dy = node.input(0);
  const auto& o = node.as<PoolGradOptions>();
  PoolGeometry g = pool_grad_geometry(node.op().name, dy.shape(), o.window, o.input_size);
  if (!suits(g)) return nullptr;
  return kernel_for_type(dy.dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if (node.is(max_pool_grad_op)) return std::make_unique<MaxPoolGradKernel<T>>(g, threads);
    return std::make_unique<AveragePoolKernel<T>>(g, true, threads);
  });
}

const KernelRegistration max_registration(max_pool_op, make), average(avg_pool_op, make),
    max_gradient(max_pool_grad_op, make_gradient),
    average_gradient(avg_pool_grad_op, make_gradient);

}  // namespace
}  // namespace belfry::cpu
