#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy() * (1 - square(c.output()))}; }

}  // namespace

const OpDef tanh_op = elementwise_op<functor::Tanh>(gradient);

Tensor tanh(Tensor x) { return apply1(tanh_op, {x}); }

}  // namespace belfry
