#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef not_equal_op = elementwise_op<functor::NotEqual>(no_gradient);

Tensor not_equal(Tensor a, Tensor b) { return apply1(not_equal_op, {a, b}); }

}  // namespace belfry
