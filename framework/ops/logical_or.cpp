#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef logical_or_op = elementwise_op<functor::LogicalOr>(no_gradient);

Tensor logical_or(Tensor a, Tensor b) { return apply1(logical_or_op, {a, b}); }

}  // namespace belfry
