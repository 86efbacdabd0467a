#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor stack(std::vector<Tensor> parts, int axis) {
  require(!parts.empty(), "stack: no parts; pass at least 1");
  TensorType first = parts[0].type();
  axis = normalize_axis(axis, first.shape.rank() + 1, "stack");
  std::vector<std::int64_t> sizes(first.shape.begin(), first.shape.end());
  sizes.insert(sizes.begin() + axis, 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    require(parts[i].type() == first, "stack: part 0 is ", first, " but part ", i, " is ",
            parts[i].type(), "; parts must be alike");
    parts[i] = reshape(parts[i], Shape(sizes));
  }
  return concat(std::move(parts), axis);
}

}  // namespace belfry
