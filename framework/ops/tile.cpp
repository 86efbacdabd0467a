#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor tile(Tensor x, std::vector<std::int64_t> repeats) {
  require(repeats.size() == static_cast<std::size_t>(x.rank()), "tile: ", repeats.size(),
          " counts for ", x.type(), "; pass one for each axis");
  std::int64_t before = 1;  // elements of the axes in front
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t count = repeats[static_cast<std::size_t>(axis)];
    require(count >= 0, "tile: axis ", axis, " has the negative count ", count);
    Shape result = x.shape().with(axis, x.size(axis) * count);
    std::int64_t rest = 1;  // elements of this axis and those behind
    for (int i = axis; i < x.rank(); ++i) rest *= x.size(i);
    x = reshape(broadcast_to(reshape(x, Shape{before, 1, rest}), Shape{before, count, rest}),
                result);
    before *= result[axis];
  }
  return x;
}

}  // namespace belfry
