#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() * 0.5 / c.output()}; }

}  // namespace

const OpDef sqrt_op = elementwise_op<functor::Sqrt>(gradient);

Tensor sqrt(Tensor x) { return apply1(sqrt_op, {x}); }

}  // namespace belfry
