#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef less_op = elementwise_op<functor::Less>(no_gradient);

Tensor less(Tensor a, Tensor b) { return apply1(less_op, {a, b}); }

}  // namespace belfry
