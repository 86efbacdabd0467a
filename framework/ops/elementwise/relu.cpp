#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> relu_gradient(const GradContext& c) { return {relu_grad(c.dy(), c.output())}; }

std::vector<Tensor> relu_grad_gradient(const GradContext& c) {
  return {sum_to(relu_grad(c.dy(), c.input(1)), c.input(0).shape()), {}};
}

}  // namespace

const OpDef functor::Relu::op = elementwise_op<functor::Relu>(relu_gradient);

Tensor relu(Tensor x) { return apply1(functor::Relu::op, {x}); }

const OpDef functor::ReluGrad::op = elementwise_op<functor::ReluGrad>(relu_grad_gradient);

Tensor relu_grad(Tensor dy, Tensor y) { return apply1(functor::ReluGrad::op, {dy, y}); }

Tensor leaky_relu(Tensor x, LeakyReluOptions options) {
  return where(greater(x, number(x, 0, "leaky_relu")), x, x * options.alpha);
}

// expm1 sees no positive x: its infinity, though not chosen, would make the gradient NaN.
Tensor elu(Tensor x, EluOptions options) {
  Tensor zero = number(x, 0, "elu");
  return where(greater(x, zero), x, expm1(minimum(x, zero)) * options.alpha);
}

}  // namespace belfry
