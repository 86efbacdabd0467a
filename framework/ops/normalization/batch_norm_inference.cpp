#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {

Tensor batch_norm_inference(Tensor x, Tensor scale, Tensor offset, Tensor mean, Tensor variance,
                            double epsilon) {
  constexpr std::string_view name = "batch_norm_inference";
  check_at(x, [&] {
    TensorType channel = check_norm(name, x.type(), scale.type(), offset.type(), epsilon);
    require_type(name, "mean", mean.type(), channel);
    require_type(name, "variance", variance.type(), channel);
  });
  // One factor and one term a channel, which are constants when all four are.
  Tensor factor = scale * rsqrt(variance + epsilon);
  Tensor term = offset - mean * factor;
  return cast(cast(x, factor.dtype()) * factor + term, x.dtype());
}

}  // namespace belfry
