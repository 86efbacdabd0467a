#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor y = c.output();
  return {c.dy() * -0.5 * y * y * y};
}

}  // namespace

const OpDef rsqrt_op = elementwise_op<functor::Rsqrt>(gradient);

Tensor rsqrt(Tensor x) { return apply1(rsqrt_op, {x}); }

}  // namespace belfry
