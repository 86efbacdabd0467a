#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {-c.dy() * square(c.output())}; }

}  // namespace

const OpDef functor::Reciprocal::op = elementwise_op<functor::Reciprocal>(gradient);

Tensor reciprocal(Tensor x) { return apply1(functor::Reciprocal::op, {x}); }

}  // namespace belfry
