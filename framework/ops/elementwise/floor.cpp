#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/math.h"

namespace belfry {

const OpDef functor::Floor::op = elementwise_op<functor::Floor>(no_gradient);

Tensor floor(Tensor x) { return apply1(functor::Floor::op, {x}); }

}  // namespace belfry
