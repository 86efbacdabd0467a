#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef less_equal_op = elementwise_op<functor::LessEqual>(no_gradient);

Tensor less_equal(Tensor a, Tensor b) { return apply1(less_equal_op, {a, b}); }

}  // namespace belfry
