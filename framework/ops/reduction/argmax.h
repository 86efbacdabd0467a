#pragma once
// The common parts of argmax and argmin.

#include <vector>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {

inline std::vector<TensorType> argmax_shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  int axis = c.as<AxisOptions>().axis;
  require(in_domain(x.dtype, Domain::number), c.op, ": expected a number type, got ", x,
          "; cast it first");
  require(x.shape[axis] > 0, c.op, ": axis ", axis, " of ", x, " has size 0");
  return {{ReductionWalk(x.shape, {axis}).kept, DType::i64}};
}

/// The first element that `Better` puts before all others; NaN comes before any number.
template <class Better>
void argmax_reference(const KernelContext& c) {
  ReductionWalk walk(c.input(0).shape(), {c.as<AxisOptions>().axis});
  std::int64_t size = walk.reduced[0], stride = walk.reduced_strides[0];
  auto* out = c.output().as<std::int64_t>();
  dispatch(c.input(0).dtype(), [&](auto t) {
    using T = decltype(t);
    strided_walk<1>(walk.kept, {walk.kept_strides}, [&](const auto& start) {
      std::int64_t best = 0;
      auto best_value = detail::load<T>(c.input(0), start[0]);
      for (std::int64_t i = 1; i < size && best_value == best_value; ++i) {
        auto value = detail::load<T>(c.input(0), start[0] + i * stride);
        if (value != value || Better{}(value, best_value)) best = i, best_value = value;
      }
      *out++ = best;
    });
  });
}

}  // namespace belfry
