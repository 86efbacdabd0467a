#include <algorithm>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/panels.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_convert.h"

namespace belfry::cpu {
namespace {

/// Each thread takes bands of rows of dx, and multiplies some rows of dy at a time.
template <class T>
class FewChannelsGradInput final : public Kernel {
 public:
  FewChannelsGradInput(const ConvGeometry& g, int threads)
      : products_(simd().winograd.products),
        convert_(simd().convert.of<T>()),
        g_(g),
        row_(g.columns.in * g.in_channels),
        threads_(threads) {
    // The kernel [rows, columns, in, out] as a matrix [out, taps x in].
    auto panels = std::make_shared<PanelsKernel<T>>(g.out_channels, g.taps() * g.in_channels, true);
    width_ = panels->width();
    packed_ = {.input = 1,
               .layout = concat("panels ", g.taps(), "x", g.in_channels, "x", g.out_channels),
               .size = panels->size(),
               .pack = panels};
    // Bands fit into a core's cache and are enough for all threads, but not so low that much of dy
    // is multiplied for two of them.
    constexpr std::int64_t floats_of_band = 1 << 16, positions_at_once = 96;
    std::int64_t even = ceil_div(g.rows.in * g.batch, 2 * threads);
    std::int64_t least = 8 * g.rows.window;
    band_ = std::min(g.rows.in, std::max(least, std::min(even, floats_of_band / row_)));
    bands_ = ceil_div(g.rows.in, band_);
    at_once_ = std::clamp<std::int64_t>(positions_at_once / g.columns.out, 1, g.rows.out);
  }

  Bytes workspace() const override { return bytes_of(threads_ * floats_of_thread()); }
  std::vector<PackedInput> packed_inputs() const override { return {packed_}; }
  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    std::int64_t all = g_.batch * bands_;
    auto* workspace = a.scratch<float>();
    parallel_for(threads_, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread)
        for (std::int64_t i = all * thread / threads_; i < all * (thread + 1) / threads_; ++i)
          run_band(a, i / bands_, i % bands_ * band_, workspace + thread * floats_of_thread());
    });
  }

 private:
  static constexpr bool wide = std::is_same_v<T, float>;
  static Bytes bytes_of(std::int64_t floats) { return Bytes(floats * std::int64_t{sizeof(float)}); }
  static std::int64_t whole_lines(std::int64_t floats) { return ceil_div(floats, 16) * 16; }
  std::int64_t floats_of_products() const { return at_once_ * g_.columns.out * width_; }
  std::int64_t floats_of_dy() const {
    return wide ? 0 : whole_lines(at_once_ * g_.columns.out * g_.out_channels);
  }
  std::int64_t floats_of_thread() const {
    return floats_of_products() + floats_of_dy() + (wide ? 0 : whole_lines(band_ * row_));
  }

  /// Rows from `first` on of the dx of image n.
  void run_band(const KernelArguments& a, std::int64_t n, std::int64_t first,
                float* workspace) const {
    std::int64_t end = std::min(first + band_, g_.rows.in), at = g_.input_offset({n, 0, first, 0});
    T* dx = a.output<T>(0) + at;
    float *products = workspace, *dy = products + floats_of_products(), *sums = dy + floats_of_dy();
    if constexpr (wide) sums = dx;
    std::fill_n(sums, (end - first) * row_, 0.0f);
    const WindowAxis& rows = g_.rows;
    std::int64_t above = std::max<std::int64_t>(first + rows.before - (rows.window - 1), 0);
    std::int64_t from = ceil_div(above, rows.stride);
    std::int64_t to = std::min((end - 1 + rows.before) / rows.stride + 1, rows.out);
    for (std::int64_t y = from; y < to; y += at_once_) {
      std::int64_t count = std::min(at_once_, to - y);
      multiply(a, n, y, count, dy, products);
      for (std::int64_t i = 0; i < count; ++i)
        add_row(products + i * g_.columns.out * width_, y + i, first, end, sums);
    }
    if constexpr (!wide) convert_.store(sums, dx, (end - first) * row_);
  }

  /// products = [places, taps x in] for `count` rows of dy from row y on.
  void multiply(const KernelArguments& a, std::int64_t n, std::int64_t y, std::int64_t count,
                float* buffer, float* products) const {
    const T* dy = a.input<T>(0) + g_.output_offset({n, 0, y, 0});
    std::int64_t positions = count * g_.columns.out;
    WinogradFactors factors{buffer, a.input<float>(1)};
    if constexpr (wide)
      factors.a = dy;
    else
      convert_.load(dy, buffer, positions * g_.out_channels);
    products_(&factors, 1, positions, g_.out_channels, width_, products);
  }

  /// Adds the products of output row y to the rows [first, end) of dx that its windows read.
  void add_row(const float* products, std::int64_t y, std::int64_t first, std::int64_t end,
               float* sums) const {
    const WindowAxis& columns = g_.columns;
    std::int64_t c = g_.in_channels, of_row = columns.window * c;
    for (std::int64_t h = 0; h < g_.rows.window; ++h) {
      std::int64_t row = g_.rows.input_at(y, h);
      if (row < first || row >= end) continue;
      float* to = sums + (row - first) * row_;
      for (std::int64_t x = 0; x < columns.out; ++x) {
        const float* from = products + x * width_ + h * of_row;
        std::int64_t at = columns.input_at(x, 0) * c;
        std::int64_t begin = std::max<std::int64_t>(-at, 0), stop = std::min(of_row, row_ - at);
        for (std::int64_t i = begin; i < stop; ++i) to[at + i] += from[i];
      }
    }
  }

  void (*products_)(const WinogradFactors*, int, std::int64_t, std::int64_t, std::int64_t, float*);
  const ConvertLoops<T>& convert_;
  ConvGeometry g_;
  std::int64_t row_;  // floats of a row of dx
  int threads_;
  std::int64_t width_, band_, bands_, at_once_;
  PackedInput packed_;
};

}  // namespace

std::unique_ptr<Kernel> few_channels_grad_input(const Node& node, const ConvGeometry& g,
                                                int threads) {
  bool applies = g.in_channels <= 8 && g.groups == 1 && !g.volume && g.rows.dilation == 1
                 && g.columns.dilation == 1 && g.rows.in > 1 && g.columns.out <= 1024
                 && g.input().elements() > 0 && g.output().elements() > 0;
  if (!applies) return nullptr;
  return kernel_for_type(node.output().dtype, [&](auto t) {
    return std::make_unique<FewChannelsGradInput<decltype(t)>>(g, threads);
  });
}

}  // namespace belfry::cpu
