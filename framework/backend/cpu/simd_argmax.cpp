// argmax and argmin along the innermost axis.

#include <algorithm>
#include <functional>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

class ArgmaxKernel final : public Kernel {
 public:
  ArgmaxKernel(std::int64_t rows, std::int64_t size, bool max, int threads)
      : rows_(rows),
        size_(size),
        max_(max),
        threads_(threads),
        extremum_(max ? simd().rows.max : simd().rows.min) {}

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = static_cast<const float*>(a.inputs[0]);
    auto* y = static_cast<std::int64_t*>(a.outputs[0]);
    parallel_for(rows_, rows_worth_sharing(size_), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) y[row] = place(x + row * size_);
                 });
  }

 private:
  // Long rows: their extremum first, then where it stands.
  std::int64_t place(const float* row) const {
    if (size_ < long_row)
      return max_ ? place_in_short(row, std::greater<>()) : place_in_short(row, std::less<>());
    float best = extremum_(row, size_);  // NaN if there is one
    const float* at = std::find_if(
        row, row + size_, [best](float v) { return v == best || (v != v && best != best); });
    return at - row;
  }

  template <class Better>
  std::int64_t place_in_short(const float* row, Better better) const {
    std::int64_t place = 0;
    float best = row[0];
    for (std::int64_t i = 1; i < size_ && best == best; ++i)
      if (row[i] != row[i] || better(row[i], best)) place = i, best = row[i];
    return place;
  }

  static constexpr std::int64_t long_row = 64;

  std::int64_t rows_, size_;
  bool max_;
  int threads_;
  float (*extremum_)(const float* x, std::int64_t n);
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  const TensorType& x = node.input(0).type();
  int axis = node.as<AxisOptions>().axis;
  if (x.dtype != DType::f32 || axis != x.shape.rank() - 1) return nullptr;
  return std::make_unique<ArgmaxKernel>(node.output().shape.elements(), x.shape[axis],
                                        node.is(argmax_op), threads);
}

const KernelRegistration argmax_registration(argmax_op, make), argmin_registration(argmin_op, make);

}  // namespace
}  // namespace belfry::cpu
