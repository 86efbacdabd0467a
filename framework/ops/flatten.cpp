#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor flatten(Tensor x) {
  require_defined("flatten", {x});
  require(x.rank() >= 1, "flatten: expected [n, ...], got a scalar");
  std::int64_t rest = 1;
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.size(axis);
  return reshape(x, Shape{x.size(0), rest});
}

}  // namespace belfry
