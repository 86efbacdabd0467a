#include <cmath>
#include <numbers>

#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {apply1(functor::GeluGrad::op, {c.dy(), c.input()})};
}

std::vector<Tensor> gradient_by_tanh(const GradContext& c) {
  return {apply1(functor::GeluByTanhGrad::op, {c.dy(), c.input()})};
}

// The derivative is p + x p', with the density p', whose own is -x p'.
std::vector<Tensor> gradient_of_gradient(const GradContext& c) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  Tensor density = exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return {apply1(functor::GeluGrad::op, {c.dy(), x}), c.dy() * dy * density * (2 - square(x))};
}

// Likewise, with p = sigmoid(v(x)): p' = p (1 - p) v' and p'' = p' (1 - 2 p) v' + p (1 - p) v''.
std::vector<Tensor> gradient_of_gradient_by_tanh(const GradContext& c) {
  using Normal = functor::detail::NormalByTanh<double>;
  const Tensor& dy = c.input(0);
  Tensor x = clip(c.input(1), -10, 10);
  Tensor p = sigmoid(x * (square(x) * Normal::cubic + 1) * Normal::factor);
  Tensor slope = (square(x) * (3 * Normal::cubic) + 1) * Normal::factor;
  Tensor bend = x * (6 * Normal::cubic * Normal::factor);
  Tensor second = p * (1 - p) * (2 * slope + x * ((1 - 2 * p) * square(slope) + bend));
  return {apply1(functor::GeluByTanhGrad::op, {c.dy(), c.input(1)}), c.dy() * dy * second};
}

}  // namespace

const OpDef functor::Gelu::op = elementwise_op<functor::Gelu>(gradient);
const OpDef functor::GeluGrad::op = elementwise_op<functor::GeluGrad>(gradient_of_gradient);
const OpDef functor::GeluByTanh::op = elementwise_op<functor::GeluByTanh>(gradient_by_tanh);
const OpDef functor::GeluByTanhGrad::op =
    elementwise_op<functor::GeluByTanhGrad>(gradient_of_gradient_by_tanh);

Tensor gelu(Tensor x, GeluOptions options) {
  return apply1(options.approximate ? functor::GeluByTanh::op : functor::Gelu::op, {x});
}

}  // namespace belfry
