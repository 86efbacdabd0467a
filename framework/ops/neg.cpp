#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {-c.dy()}; }

}  // namespace

const OpDef neg_op = elementwise_op<functor::Neg>(gradient);

Tensor neg(Tensor x) { return apply1(neg_op, {x}); }

}  // namespace belfry
