#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/normalization/norm.h"
#include "belfry/framework/ops/reduction/reduce.h"

namespace belfry {

Tensor group_norm(Tensor x, Tensor scale, Tensor offset, int groups, double epsilon) {
  constexpr std::string_view name = "group_norm";
  check_at(x, [&] {
    check_norm(name, x.type(), scale.type(), offset.type(), epsilon);
    require(x.rank() >= 2, name, ": input must be [n, ..., c], got ", x.type());
    require(groups >= 1 && x.size(-1) % groups == 0, name, ": ", x.size(-1),
            " channels cannot be divided into ", groups, " groups");
  });
  std::int64_t n = x.size(0), channels = x.size(-1), space = 1;
  for (int i = 1; i + 1 < x.rank(); ++i) space *= x.size(i);
  Shape grouped{n, space, groups, channels / groups};
  ReduceOptions over_group{.axes = {1, 3}, .keep_dims = true};
  Tensor wide = reshape(cast(x, scale.dtype()), grouped);
  Tensor centred = wide - mean(wide, over_group);
  Tensor normal = centred * rsqrt(mean(square(centred), over_group) + epsilon);
  return cast(reshape(normal, x.shape()) * scale + offset, x.dtype());
}

}  // namespace belfry
