#include <cstring>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  const Shape& shape = c.as<ShapeOptions>().shape;
  require(shape.elements() == x.shape.elements(), c.op, ": ", x, " has ", x.shape.elements(),
          " elements but the shape ", shape, " has ", shape.elements());
  return {{shape, x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) { return {reshape(c.dy(), c.input().shape())}; }

void reference(const KernelContext& c) {
  std::memmove(c.output().data, c.input(0).data, c.output().type.bytes());
}

}  // namespace

const OpDef reshape_op{.name = "reshape",
                       .shape = shape_rule,
                       .gradient = gradient,
                       .reference = reference,
                       .view = true};

Tensor reshape(Tensor x, const Shape& shape) {
  if (x.shape() == shape && !x.graph().keeps_idle_nodes()) return x;
  return apply1(reshape_op, {x}, ShapeOptions{shape});
}

Tensor reshape(Tensor x, std::vector<std::int64_t> sizes) {
  std::int64_t* open = nullptr;
  std::int64_t known = 1;
  for (std::int64_t& size : sizes) {
    require(size >= -1, "reshape: a size is ", size, "; sizes are at least 0, or -1 for one");
    require(size != -1 || !open, "reshape: more than one size is -1 in [", join(sizes, ", "), "]");
    if (size == -1) {
      open = &size;
    } else {
      known *= size;
    }
  }
  if (open) {
    require(known != 0 && x.shape().elements() % known == 0, "reshape: ", x.type(), " has ",
            x.shape().elements(), " elements, which [", join(sizes, ", "),
            "] cannot hold for any size in place of -1");
    *open = x.shape().elements() / known;
  }
  return reshape(x, Shape(sizes));
}

Tensor flatten(Tensor x) {
  require_defined("flatten", {x});
  require(x.rank() >= 1, "flatten: expected [n, ...], got a scalar");
  std::int64_t rest = 1;
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.size(axis);
  return reshape(x, Shape{x.size(0), rest});
}

const OpDef stop_gradient_op{.name = "stop_gradient",
                             .shape = same_shape,
                             .gradient = no_gradient,
                             .reference = reference,
                             .view = true,
                             .onnx = "Identity"};

Tensor stop_gradient(Tensor x) { return apply1(stop_gradient_op, {x}); }

}  // namespace belfry
