// argmax and argmin along the innermost axis.

#include <algorithm>
#include <functional>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

template <class T>
class ArgmaxKernel final : public Kernel {
 public:
  ArgmaxKernel(std::int64_t rows, std::int64_t size, bool max, int threads)
      : rows_(rows),
        size_(size),
        max_(max),
        threads_(threads),
        extremum_(max ? simd().rows.of<T>().max : simd().rows.of<T>().min) {}

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    auto* y = a.output<std::int64_t>(0);
    parallel_for(rows_, rows_worth_sharing(size_), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row)
                     y[row] = index_of(x + row * size_);
                 });
  }

 private:
  // Long rows: their extremum first, then where it stands.
  std::int64_t index_of(const T* row) const {
    if (size_ < long_row)
      return max_ ? index_in_short(row, std::greater<>()) : index_in_short(row, std::less<>());
    float best = extremum_(row, size_);  // NaN if there is one
    auto wins = [best](T element) {
      auto v = static_cast<float>(element);
      return v == best || (v != v && best != best);
    };
    return std::find_if(row, row + size_, wins) - row;
  }

  template <class Better>
  std::int64_t index_in_short(const T* row, Better better) const {
    std::int64_t index = 0;
    auto best = static_cast<float>(row[0]);
    for (std::int64_t i = 1; i < size_ && best == best; ++i) {
      auto v = static_cast<float>(row[i]);
      if (v != v || better(v, best)) index = i, best = v;
    }
    return index;
  }

  static constexpr std::int64_t long_row = 64;

  std::int64_t rows_, size_;
  bool max_;
  int threads_;
  float (*extremum_)(const T* x, std::int64_t n);
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  const TensorType& x = node.input(0).type();
  int axis = node.as<AxisOptions>().axis;
  if (axis != x.shape.rank() - 1) return nullptr;
  return kernel_for_type(x.dtype, [&](auto t) {
    return std::make_unique<ArgmaxKernel<decltype(t)>>(node.output().shape.elements(),
                                                       x.shape[axis], node.is(argmax_op), threads);
  });
}

const KernelRegistration argmax_registration(argmax_op, make), argmin_registration(argmin_op, make);

}  // namespace
}  // namespace belfry::cpu
