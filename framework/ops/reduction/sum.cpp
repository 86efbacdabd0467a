#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/reduction/reduction.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {repeat_to(c.dy(), c.input().shape(), c.as<ReduceOptions>())};
}

struct Fold {
  template <class T>
  using Accumulator = WideAccumulator<T>;
  template <class A>
  static A first() {
    return 0;
  }
  static auto add(auto a, auto b) { return a + b; }
};

}  // namespace

const OpDef sum_op{.name = "sum",
                   .shape = reduce_shape,
                   .gradient = gradient,
                   .reference = reduce_reference<Fold>,
                   .autocast = Autocast::f32,
                   .flops = reduce_flops};

Tensor sum(Tensor x, ReduceOptions options) {
  return apply1(sum_op, {x}, normalize(options, x, "sum"));
}

Tensor sum_to(Tensor x, const Shape& shape) {
  if (x.shape() == shape && !x.graph().keeps_idle_nodes()) return x;
  int added = x.rank() - shape.rank();
  bool fits = added >= 0;
  std::vector<int> axes;
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    std::int64_t size = x.shape()[axis];
    if (axis < added || (shape[axis - added] == 1 && size != 1)) {
      axes.push_back(axis);
    } else {
      fits = shape[axis - added] == size;
    }
  }
  require(fits, "sum_to: ", shape, " does not broadcast to ", x.shape());
  return reshape(axes.empty() ? reshape(x, shape) : sum(x, {.axes = axes}), shape);
}

Tensor mean(Tensor x, ReduceOptions options) {
  require_defined("mean", {x});
  require(is_floating(x.dtype()), "mean: expected a floating type, got ", x.type(),
          "; cast it first");
  std::int64_t count = 1;
  for (int axis : normalize(options, x, "mean").axes) count *= x.size(axis);
  // The sum of many 16-bit numbers may overflow where their mean does not.
  Tensor wide = x.dtype() == DType::f64 ? x : cast(x, DType::f32);
  Tensor y = sum(wide, options) / count;
  return x.graph().mixed_precision() ? y : cast(y, x.dtype());
}

}  // namespace belfry
