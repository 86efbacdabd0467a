#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/number.h"

namespace belfry {

Tensor leaky_relu(Tensor x, LeakyReluOptions options) {
  return where(greater(x, number(x, 0, "leaky_relu")), x, x * options.alpha);
}

}  // namespace belfry
