#include "belfry/framework/ops/elementwise/number.h"

#include <cmath>

#include "belfry/framework/graph/leaves.h"

namespace belfry {

bool holds(DType dtype, double value) {
  return dispatch(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      return value == 0 || value == 1;
    } else if constexpr (std::is_integral_v<T>) {
      // 2^63 is a double, the highest i64 is not.
      double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
      double low = std::is_signed_v<T> ? -end : 0;
      return value >= low && value < end && value == std::floor(value);
    } else {
      if (!std::isfinite(value)) return true;
      // Out of range of float itself the conversion would be undefined.
      if (sizeof(T) < sizeof(double) && std::abs(value) > std::numeric_limits<float>::max())
        return false;
      return std::isfinite(static_cast<compute_type<T>>(T(static_cast<compute_type<T>>(value))));
    }
  });
}

Tensor number(Tensor like, double value, std::string_view what) {
  require(like.defined(), what, ": the tensor beside the number ", value, " is undefined");
  DType dtype = like.dtype();
  require(dtype != DType::boolean, what, ": a number beside ", like.type(),
          "; cast the tensor to a number type first");
  require(holds(dtype, value), what, ": ", value, " is no value of ", dtype,
          "; cast the tensor first");
  return constant(like.graph(), value, dtype);
}

}  // namespace belfry
