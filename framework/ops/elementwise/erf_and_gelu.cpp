#include <cmath>
#include <numbers>

#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {c.dy() * (2 * std::numbers::inv_sqrtpi) * exp(-square(c.input()))};
}

// tanh is 1 to the last bit beyond 10, and the cube would overflow 16-bit floats.
Tensor normal_distribution_tanh(Tensor x) {
  Tensor z = clip(x, -10, 10);
  Tensor inner = z * (square(z) * 0.044715 + 1) * std::sqrt(2 * std::numbers::inv_pi);
  return (tanh(inner) + 1) * 0.5;
}

Tensor normal_distribution(Tensor x) { return (erf(x * (1 / std::numbers::sqrt2)) + 1) * 0.5; }

}  // namespace

const OpDef functor::Erf::op = elementwise_op<functor::Erf>(gradient);

Tensor erf(Tensor x) { return apply1(functor::Erf::op, {x}); }

Tensor gelu(Tensor x, GeluOptions options) {
  return x * (options.approximate ? normal_distribution_tanh(x) : normal_distribution(x));
}

}  // namespace belfry
