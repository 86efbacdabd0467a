#include <numbers>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {c.dy() * (2 * std::numbers::inv_sqrtpi) * exp(-square(c.input()))};
}

}  // namespace

const OpDef erf_op = elementwise_op<functor::Erf>(gradient);

Tensor erf(Tensor x) { return apply1(erf_op, {x}); }

}  // namespace belfry
