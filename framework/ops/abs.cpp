#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() * sign(c.input())}; }

}  // namespace

const OpDef abs_op = elementwise_op<functor::Abs>(gradient);

Tensor abs(Tensor x) { return apply1(abs_op, {x}); }

}  // namespace belfry
