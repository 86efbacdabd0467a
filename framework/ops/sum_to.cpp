#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor sum_to(Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
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
  return reshape(axes.empty() ? x : sum(x, {.axes = axes}), shape);
}

}  // namespace belfry
