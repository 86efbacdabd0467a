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

// With respect to dy and x, of a function's slope times dy.
std::vector<Tensor> gradients_of(const OpDef& slope, const GradContext& c, const Tensor& second) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  return {sum_to(apply1(slope, {c.dy(), x}), dy.shape()), sum_to(c.dy() * dy * second, x.shape())};
}

// The derivative is p + x p', with the density p', whose own is -x p'. Far out p' is 0, and squares
// would overflow.
std::vector<Tensor> gradient_of_gradient(const GradContext& c) {
  Tensor x = clip(c.input(1), -20, 20);
  Tensor density = exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return gradients_of(functor::GeluGrad::op, c, density * (2 - square(x)));
}

// Likewise, with p = sigmoid(v(x)): p' = p (1 - p) v' and p'' = p' (1 - 2 p) v' + p (1 - p) v''.
std::vector<Tensor> gradient_of_gradient_by_tanh(const GradContext& c) {
  using Normal = NormalByTanh<double>;
  Tensor x = clip(c.input(1), -10, 10);
  Tensor p = sigmoid(x * (square(x) * Normal::cubic + 1) * Normal::factor);
  Tensor slope = (square(x) * (3 * Normal::cubic) + 1) * Normal::factor;
  Tensor bend = x * (6 * Normal::cubic * Normal::factor);
  Tensor second = p * (1 - p) * (2 * slope + x * ((1 - 2 * p) * square(slope) + bend));
  return gradients_of(functor::GeluByTanhGrad::op, c, second);
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
