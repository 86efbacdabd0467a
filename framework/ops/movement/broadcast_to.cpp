#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  const Shape& shape = c.as<ShapeOptions>().shape;
  require(broadcast(x.shape, shape, c.op) == shape, c.op, ": ", x, " does not broadcast to ",
          shape);
  return {{shape, x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) { return {sum_to(c.dy(), c.input().shape())}; }

void reference(const KernelContext& c) {
  const Shape& shape = c.output().shape();
  dispatch(c.output().dtype(), [&](auto t) {
    using T = decltype(t);
    const T* x = c.input(0).as<const T>();
    T* y = c.output().as<T>();
    strided_walk<1>(shape, {broadcast_strides(c.input(0).shape(), shape)},
                    [&](const auto& at) { *y++ = x[at[0]]; });
  });
}

// Three axes are enough: those in front, the new one, and the repeated one with those behind.
Tensor repeat(Tensor x, int axis, std::int64_t count) {
  Shape result = x.shape().with(axis, x.size(axis) * count);
  std::int64_t before = 1, rest = 1;
  for (int i = 0; i < axis; ++i) before *= x.size(i);
  for (int i = axis; i < x.rank(); ++i) rest *= x.size(i);
  Tensor view = reshape(x, Shape{before, 1, rest});
  return reshape(broadcast_to(view, Shape{before, count, rest}), result);
}

}  // namespace

const OpDef broadcast_to_op{
    .name = "broadcast_to", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor broadcast_to(Tensor x, const Shape& shape) {
  if (x.shape() == shape && !x.graph().keeps_idle_nodes()) return x;
  return apply1(broadcast_to_op, {x}, ShapeOptions{shape});
}

Tensor tile(Tensor x, std::vector<std::int64_t> repeats) {
  require(std::ssize(repeats) == x.rank(), "tile: ", repeats.size(), " counts for ", x.type(),
          "; pass one for each axis");
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t count = repeats[axis];
    require(count >= 0, "tile: axis ", axis, " has the negative count ", count);
    if (count != 1) x = repeat(x, axis, count);
  }
  return x;
}

}  // namespace belfry
