#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef logical_not_op = elementwise_op<functor::LogicalNot>(no_gradient);

Tensor logical_not(Tensor x) { return apply1(logical_not_op, {x}); }

}  // namespace belfry
