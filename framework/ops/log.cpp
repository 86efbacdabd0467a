#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() / c.input()}; }

}  // namespace

const OpDef log_op = elementwise_op<functor::Log>(gradient);

Tensor log(Tensor x) { return apply1(log_op, {x}); }

}  // namespace belfry
