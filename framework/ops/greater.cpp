#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef greater_op = elementwise_op<functor::Greater>(no_gradient);

Tensor greater(Tensor a, Tensor b) { return apply1(greater_op, {a, b}); }

}  // namespace belfry
