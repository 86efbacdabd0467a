#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduction.h"

namespace belfry {

Tensor mean(Tensor x, ReduceOptions options) {
  require_defined("mean", {x});
  require(is_floating(x.dtype()), "mean: expected a floating type, got ", x.type(),
          "; cast it first");
  std::int64_t count = 1;
  for (int axis : normalize(options, x, "mean").axes) count *= x.size(axis);
  // The sum of many 16-bit numbers may overflow where their mean does not.
  Tensor wide = x.dtype() == DType::f64 ? x : cast(x, DType::f32);
  Tensor y = sum(wide, options) / static_cast<double>(count);
  return x.graph().mixed_precision() ? y : cast(y, x.dtype());
}

}  // namespace belfry
