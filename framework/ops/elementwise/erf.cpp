#include <numbers>

#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {c.dy() * (2 * std::numbers::inv_sqrtpi) * exp(-square(c.input()))};
}

}  // namespace

const OpDef functor::Erf::op = elementwise_op<functor::Erf>(gradient);

Tensor erf(Tensor x) { return apply1(functor::Erf::op, {x}); }

}  // namespace belfry
