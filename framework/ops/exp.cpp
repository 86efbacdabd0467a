#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() * c.output()}; }

}  // namespace

const OpDef exp_op = elementwise_op<functor::Exp>(gradient);

Tensor exp(Tensor x) { return apply1(exp_op, {x}); }

}  // namespace belfry
