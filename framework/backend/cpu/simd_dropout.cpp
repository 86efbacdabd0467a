// Dropout with the mask drawn on the fly.

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::cpu {
namespace {

template <class T>
class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(const Node& node, int threads)
      : loops_(simd().random.of<T>()), threads_(threads), mask_(node.as<DropoutMask>()) {
    const Shape& x = node.output().shape;
    scalar_ = x.rank() == 0;
    rows_ = scalar_ ? 1 : x[0];
    width_ = rows_ == 0 ? 0 : x.elements() / rows_;
  }

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* state = a.input<std::int64_t>(1);
    PhiloxKey key = philox_key(state[0], mask_.stream);
    std::uint64_t step = static_cast<std::uint64_t>(state[1]) & 0xffffffffffff;
    auto scale = static_cast<float>(1 / (1 - static_cast<double>(mask_.rate)));
    // Pieces of rows: one row may be all there is.
    constexpr std::int64_t piece = 4096;
    std::int64_t pieces = (width_ + piece - 1) / piece;
    parallel_for(rows_ * pieces, rows_worth_sharing(4 * std::min(width_, piece)), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     std::int64_t row = i / pieces, first = i % pieces * piece;
                     std::int64_t at = row * width_ + first;
                     std::uint32_t global_row = scalar_ ? 0 : state[2] + row;
                     loops_.dropout(key.value, global_row, step, first, mask_.rate, scale,
                                    a.input<T>(0) + at, a.output<T>(0) + at,
                                    std::min(piece, width_ - first));
                   }
                 });
  }

 private:
  const RandomLoops<T>& loops_;
  int threads_;
  DropoutMask mask_;
  bool scalar_;
  std::int64_t rows_, width_;
};

const KernelRegistration dropout(dropout_op, [](const Node& node, int threads) {
  return kernel_for_type(node.output().dtype, [&](auto t) {
    return std::make_unique<DropoutKernel<decltype(t)>>(node, threads);
  });
});

}  // namespace
}  // namespace belfry::cpu
