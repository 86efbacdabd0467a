#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef greater_equal_op = elementwise_op<functor::GreaterEqual>(no_gradient);

Tensor greater_equal(Tensor a, Tensor b) { return apply1(greater_equal_op, {a, b}); }

}  // namespace belfry
