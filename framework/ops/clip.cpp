#include <cmath>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/number.h"

namespace belfry {

// A bound that the type cannot hold and that lies on the far side bounds nothing.
Tensor clip(Tensor x, double low, double high) {
  DType dtype = x.dtype();
  if (!is_floating(dtype)) low = std::ceil(low), high = std::floor(high);
  require(low <= high, "clip: no ", dtype, " lies between ", low, " and ", high,
          "; low must not be above high");
  if (holds(dtype, high) || high < 0) x = minimum(x, number(x, high, "clip"));
  if (holds(dtype, low) || low > 0) x = maximum(x, number(x, low, "clip"));
  return x;
}

}  // namespace belfry
