#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() * (c.output() + 1)}; }

}  // namespace

const OpDef expm1_op = elementwise_op<functor::Expm1>(gradient);

Tensor expm1(Tensor x) { return apply1(expm1_op, {x}); }

}  // namespace belfry
