#include "belfry/framework/ops/normalization/norm.h"

#include <algorithm>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {

TensorType check_norm(std::string_view op, const TensorType& x, const TensorType& scale,
                      const TensorType& offset, double epsilon) {
  require_floating(op, "input", x);
  require(x.shape.rank() >= 1, op, ": input must be [..., c], got ", x);
  std::int64_t channels = x.shape[x.shape.rank() - 1];
  require(channels >= 1, op, ": input ", x, " has no channels");
  TensorType channel{{channels}, statistics_type(x.dtype)};
  require_type(op, "scale", scale, channel);
  require_type(op, "offset", offset, channel);
  require(epsilon >= 0, op, ": epsilon must be at least 0, got ", epsilon);
  return channel;
}

TensorType relu_mask_type(std::string_view op, const TensorType& x) {
  constexpr std::int64_t bits = 8;
  ensure(x.shape[x.shape.rank() - 1] % bits == 0, op, ": no mask of ", x);
  return {{x.shape.elements() / bits}, DType::u8};
}

TensorType row_type(const TensorType& x) {
  return {Shape(x.shape.sizes().first(x.shape.rank() - 1)), statistics_type(x.dtype)};
}

Tensor statistics_gradient(Tensor x, Tensor mean, Tensor inv_std, const StatisticsGradients& dy) {
  // d mean / dx = 1 / count, d variance / dx = 2 (x - mean) / count,
  // d inv_std / d variance = -inv_std^3 / 2.
  double count = x.shape().elements() / std::max(1.0, static_cast<double>(mean.shape().elements()));
  count = std::max(1.0, count);
  Tensor dvariance = dy.variance;
  if (dy.inv_std.defined()) {
    Tensor part = dy.inv_std * square(inv_std) * inv_std * -0.5;
    dvariance = add_defined(dvariance, part);
  }
  Tensor total;
  if (dvariance.defined()) total = (cast(x, mean.dtype()) - mean) * dvariance * (2 / count);
  if (dy.mean.defined()) {
    Tensor part = dy.mean / count;
    total = total.defined() ? total + part : broadcast_to(part, x.shape());
  }
  return total.defined() ? cast(total, x.dtype()) : total;
}

}  // namespace belfry
