#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

// All of dy goes to the operand that was taken.
std::vector<Tensor> gradient_of_taken(const GradContext& c, Tensor first_is_taken) {
  Tensor dy = c.dy(), zero = constant(dy.graph(), 0, dy.dtype());
  return {sum_to(where(first_is_taken, dy, zero), c.input(0).shape()),
          sum_to(where(first_is_taken, zero, dy), c.input(1).shape())};
}

std::vector<Tensor> minimum_gradient(const GradContext& c) {
  return gradient_of_taken(c, less_equal(c.input(0), c.input(1)));
}

std::vector<Tensor> maximum_gradient(const GradContext& c) {
  return gradient_of_taken(c, greater_equal(c.input(0), c.input(1)));
}

}  // namespace

const OpDef functor::Minimum::op = elementwise_op<functor::Minimum>(minimum_gradient);

Tensor minimum(Tensor a, Tensor b) { return apply1(functor::Minimum::op, {a, b}); }

const OpDef functor::Maximum::op = elementwise_op<functor::Maximum>(maximum_gradient);

Tensor maximum(Tensor a, Tensor b) { return apply1(functor::Maximum::op, {a, b}); }

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
