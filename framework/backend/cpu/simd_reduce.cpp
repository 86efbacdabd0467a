// Sums and extrema over one run of neighbouring axes: leading, trailing, in the middle, or all.

#include <optional>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"

namespace belfry::cpu {
namespace {

/// x as [outer, reduced, inner].
struct Reduction {
  std::int64_t outer = 1, reduced = 1, inner = 1;
};

/// Nothing when reduced axes lie on both sides of an axis that stays.
std::optional<Reduction> reduction(const Node& node) {
  const Shape& x = node.input(0).shape();
  const std::vector<int>& axes = node.as<ReduceOptions>().axes;
  Reduction r;
  bool after = false;  // past the last reduced axis, going outwards
  for (int i = x.rank() - 1; i >= 0; --i) {
    if (x[i] == 1) continue;
    bool reduce = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (reduce && after) return std::nullopt;
    if (reduce) {
      r.reduced *= x[i];
    } else if (r.reduced == 1) {
      r.inner *= x[i];
    } else {
      r.outer *= x[i];
      after = true;
    }
  }
  return r;
}

/// Each [reduced, inner] matrix is summed in chunks of rows.
template <class T>
class SumKernel final : public Kernel {
 public:
  SumKernel(const Reduction& r, int threads)
      : loops_(simd()), r_(r), threads_(threads), chunks_(r.reduced, r.inner) {}

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(r_.outer * chunks_.count() * r_.inner * std::int64_t{sizeof(double)});
  }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    auto* y = a.output<T>(0);
    auto* partial = a.scratch<double>();
    std::int64_t per_chunk = std::max<std::int64_t>(r_.reduced * r_.inner / chunks_.count(), 1);
    parallel_for(r_.outer * chunks_.count(), rows_worth_sharing(per_chunk), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     sum_chunk(x, i, partial + i * r_.inner);
                 });
    for (std::int64_t o = 0; o < r_.outer; ++o) {
      double* total = partial + o * chunks_.count() * r_.inner;
      for (std::int64_t k = 1; k < chunks_.count(); ++k)
        for (std::int64_t j = 0; j < r_.inner; ++j) total[j] += total[k * r_.inner + j];
      for (std::int64_t j = 0; j < r_.inner; ++j)
        y[o * r_.inner + j] = static_cast<T>(static_cast<float>(total[j]));
    }
  }

 private:
  void sum_chunk(const T* x, std::int64_t i, double* sums) const {
    std::int64_t k = i % chunks_.count(), row = i / chunks_.count() * r_.reduced + chunks_.begin(k);
    if (r_.inner == 1)
      *sums = loops_.rows.of<T>().sum(x + row, chunks_.size(k));
    else
      loops_.columns.of<T>().sum(x + row * r_.inner, chunks_.size(k), r_.inner, sums);
  }

  const SimdLoops& loops_;
  Reduction r_;
  int threads_;
  RowChunks chunks_;
};

template <class T>
class ExtremumKernel final : public Kernel {
 public:
  ExtremumKernel(const Reduction& r, bool max, int threads)
      : r_(r),
        threads_(threads),
        columns_(max ? simd().columns.of<T>().max : simd().columns.of<T>().min),
        row_(max ? simd().rows.of<T>().max : simd().rows.of<T>().min) {}

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    auto* y = a.output<T>(0);
    parallel_for(r_.outer, rows_worth_sharing(r_.reduced * r_.inner), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t o = begin; o < end; ++o) {
                     const T* matrix = x + o * r_.reduced * r_.inner;
                     if (r_.inner == 1)
                       y[o] = static_cast<T>(row_(matrix, r_.reduced));
                     else
                       columns_(matrix, r_.reduced, r_.inner, y + o * r_.inner);
                   }
                 });
  }

 private:
  Reduction r_;
  int threads_;
  void (*columns_)(const T*, std::int64_t, std::int64_t, T*);
  float (*row_)(const T*, std::int64_t);
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  std::optional<Reduction> r = reduction(node);
  if (!r) return nullptr;
  return kernel_for_type(node.input(0).dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if (node.is(sum_op)) return std::make_unique<SumKernel<T>>(*r, threads);
    return std::make_unique<ExtremumKernel<T>>(*r, node.is(max_op), threads);
  });
}

const KernelRegistration sum_registration(sum_op, make), max_registration(max_op, make),
    min_registration(min_op, make);

}  // namespace
}  // namespace belfry::cpu
