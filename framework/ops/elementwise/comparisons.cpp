#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

const OpDef functor::Equal::op = elementwise_op<functor::Equal>(no_gradient);

Tensor equal(Tensor a, Tensor b) { return apply1(functor::Equal::op, {a, b}); }

const OpDef functor::NotEqual::op = elementwise_op<functor::NotEqual>(no_gradient);

Tensor not_equal(Tensor a, Tensor b) { return apply1(functor::NotEqual::op, {a, b}); }

const OpDef functor::Less::op = elementwise_op<functor::Less>(no_gradient);

Tensor less(Tensor a, Tensor b) { return apply1(functor::Less::op, {a, b}); }

const OpDef functor::LessEqual::op = elementwise_op<functor::LessEqual>(no_gradient);

Tensor less_equal(Tensor a, Tensor b) { return apply1(functor::LessEqual::op, {a, b}); }

const OpDef functor::Greater::op = elementwise_op<functor::Greater>(no_gradient);

Tensor greater(Tensor a, Tensor b) { return apply1(functor::Greater::op, {a, b}); }

const OpDef functor::GreaterEqual::op = elementwise_op<functor::GreaterEqual>(no_gradient);

Tensor greater_equal(Tensor a, Tensor b) { return apply1(functor::GreaterEqual::op, {a, b}); }

}  // namespace belfry
