#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef sign_op = elementwise_op<functor::Sign>(no_gradient);

Tensor sign(Tensor x) { return apply1(sign_op, {x}); }

}  // namespace belfry
