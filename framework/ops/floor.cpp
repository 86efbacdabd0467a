#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef floor_op = elementwise_op<functor::Floor>(no_gradient);

Tensor floor(Tensor x) { return apply1(floor_op, {x}); }

}  // namespace belfry
