#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/number.h"

namespace belfry {

// expm1 sees no positive x: its infinity, though not chosen, would make the gradient NaN.
Tensor elu(Tensor x, EluOptions options) {
  Tensor zero = number(x, 0, "elu");
  return where(greater(x, zero), x, expm1(minimum(x, zero)) * options.alpha);
}

}  // namespace belfry
