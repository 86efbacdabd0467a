#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> add_gradient(const GradContext& c) {
  return {sum_to(c.dy(), c.input(0).shape()), sum_to(c.dy(), c.input(1).shape())};
}

std::vector<Tensor> sub_gradient(const GradContext& c) {
  return {sum_to(c.dy(), c.input(0).shape()), sum_to(-c.dy(), c.input(1).shape())};
}

std::vector<Tensor> mul_gradient(const GradContext& c) {
  return {sum_to(c.dy() * c.input(1), c.input(0).shape()),
          sum_to(c.dy() * c.input(0), c.input(1).shape())};
}

}  // namespace

const OpDef functor::Add::op = elementwise_op<functor::Add>(add_gradient);

Tensor add(Tensor a, Tensor b) { return apply1(functor::Add::op, {a, b}); }

const OpDef functor::Sub::op = elementwise_op<functor::Sub>(sub_gradient);

Tensor sub(Tensor a, Tensor b) { return apply1(functor::Sub::op, {a, b}); }

const OpDef functor::Mul::op = elementwise_op<functor::Mul>(mul_gradient);

Tensor mul(Tensor a, Tensor b) { return apply1(functor::Mul::op, {a, b}); }

Tensor operator+(Tensor a, double b) { return add(a, number(a, b, "add")); }
Tensor operator-(Tensor a, double b) { return sub(a, number(a, b, "sub")); }
Tensor operator*(Tensor a, double b) { return mul(a, number(a, b, "mul")); }
Tensor operator/(Tensor a, double b) { return div(a, number(a, b, "div")); }
Tensor operator+(double a, Tensor b) { return add(number(b, a, "add"), b); }
Tensor operator-(double a, Tensor b) { return sub(number(b, a, "sub"), b); }
Tensor operator*(double a, Tensor b) { return mul(number(b, a, "mul"), b); }
Tensor operator/(double a, Tensor b) { return div(number(b, a, "div"), b); }

}  // namespace belfry
