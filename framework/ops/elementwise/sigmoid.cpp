#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> sigmoid_gradient(const GradContext& c) {
  Tensor y = c.output();
  return {c.dy() * y * (1 - y)};
}

std::vector<Tensor> tanh_gradient(const GradContext& c) {
  return {c.dy() * (1 - square(c.output()))};
}

}  // namespace

const OpDef functor::Sigmoid::op = elementwise_op<functor::Sigmoid>(sigmoid_gradient);

Tensor sigmoid(Tensor x) { return apply1(functor::Sigmoid::op, {x}); }

const OpDef functor::Tanh::op = elementwise_op<functor::Tanh>(tanh_gradient);

Tensor tanh(Tensor x) { return apply1(functor::Tanh::op, {x}); }

Tensor silu(Tensor x) { return x * sigmoid(x); }

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
