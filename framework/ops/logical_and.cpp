#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef logical_and_op = elementwise_op<functor::LogicalAnd>(no_gradient);

Tensor logical_and(Tensor a, Tensor b) { return apply1(logical_and_op, {a, b}); }

}  // namespace belfry
