#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/number.h"

namespace belfry {

// log(1 + exp(z)) = max(z, 0) + log1p(exp(-|z|)), whose exponential never overflows. -|z| is
// written as a minimum so that the gradient is right at 0 too: both extrema pass it to their first
// operand, which gives 1 - 1/2 there.
Tensor softplus(Tensor x, SoftplusOptions options) {
  require(options.beta > 0, "softplus: beta must be above 0, got ", options.beta);
  Tensor z = options.beta == 1 ? x : x * options.beta;
  Tensor y = maximum(z, number(z, 0, "softplus")) + log1p(exp(minimum(-z, z)));
  return options.beta == 1 ? y : y / options.beta;
}

}  // namespace belfry
