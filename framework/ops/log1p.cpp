#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() / (c.input() + 1)}; }

}  // namespace

const OpDef log1p_op = elementwise_op<functor::Log1p>(gradient);

Tensor log1p(Tensor x) { return apply1(log1p_op, {x}); }

}  // namespace belfry
