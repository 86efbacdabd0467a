#include "belfry/framework/ops/shape_ops.h"

namespace belfry {
namespace {

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

Tensor tile(Tensor x, std::vector<std::int64_t> repeats) {
  require(repeats.size() == static_cast<std::size_t>(x.rank()), "tile: ", repeats.size(),
          " counts for ", x.type(), "; pass one for each axis");
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t count = repeats[static_cast<std::size_t>(axis)];
    require(count >= 0, "tile: axis ", axis, " has the negative count ", count);
    if (count != 1) x = repeat(x, axis, count);
  }
  return x;
}

}  // namespace belfry
