#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef equal_op = elementwise_op<functor::Equal>(no_gradient);

Tensor equal(Tensor a, Tensor b) { return apply1(equal_op, {a, b}); }

}  // namespace belfry
