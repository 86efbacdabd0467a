#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"
#include "belfry/framework/ops/strided_walk.h"

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

}  // namespace

const OpDef broadcast_to_op{
    .name = "broadcast_to", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor broadcast_to(Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return apply1(broadcast_to_op, {x}, ShapeOptions{shape});
}

}  // namespace belfry
