#pragma once
// The common parts of reductions.

#include <string_view>
#include <vector>

#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

/// The options with all axes listed, counted from 0 and sorted; Error naming `what` for an axis
/// outside x or listed twice, or if x is undefined.
ReduceOptions normalize(const ReduceOptions& options, const Tensor& x, std::string_view what);

/// The shape of a reduction of x with normalized options.
Shape reduced_shape(const Shape& x, const ReduceOptions& options);

/// Shape rule of the reductions with ReduceOptions: numbers in, the same dtype out.
std::vector<TensorType> reduce_shape(const ShapeContext& c);

/// One for each element that is reduced.
inline double reduce_flops(const Node& node) { return node.input(0).shape().elements(); }

/// The result of a reduction of x, or its gradient, repeated to the shape of x.
Tensor repeat_to(Tensor reduced, const Shape& x, const ReduceOptions& options);

/// The gradient of max and min: elements that equal the result share it evenly.
std::vector<Tensor> extremum_gradient(const GradContext& c);

/// A walk in two parts: over the axes that stay, and inside over those that are reduced.
struct ReductionWalk {
  Shape kept, reduced;
  Strides kept_strides{}, reduced_strides{};

  ReductionWalk(const Shape& x, const std::vector<int>& axes);
};

/// Fold has `template <class T> using Accumulator`, `first<A>()` and `add(A, A)`.
template <class Fold>
void reduce_reference(const KernelContext& c) {
  ReductionWalk walk(c.input(0).shape(), c.as<ReduceOptions>().axes);
  dispatch(c.input(0).dtype(), [&](auto t) {
    using T = decltype(t);
    using A = typename Fold::template Accumulator<T>;
    T* out = c.output().as<T>();
    strided_walk<1>(walk.kept, {walk.kept_strides}, [&](const auto& start) {
      A total = Fold::template first<A>();
      strided_walk<1>(
          walk.reduced, {walk.reduced_strides},
          [&](const auto& at) {
            total = Fold::add(total, static_cast<A>(detail::load<T>(c.input(0), at[0])));
          },
          start);
      *out++ = static_cast<T>(total);
    });
  });
}

/// The type in which sums and products accumulate: double, or an integer that wraps around.
template <class T>
using WideAccumulator = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

}  // namespace belfry
