#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> neg_gradient(const GradContext& c) { return {-c.dy()}; }

std::vector<Tensor> abs_gradient(const GradContext& c) { return {c.dy() * sign(c.input())}; }

}  // namespace

const OpDef functor::Neg::op = elementwise_op<functor::Neg>(neg_gradient);

Tensor neg(Tensor x) { return apply1(functor::Neg::op, {x}); }

const OpDef functor::Abs::op = elementwise_op<functor::Abs>(abs_gradient);

Tensor abs(Tensor x) { return apply1(functor::Abs::op, {x}); }

const OpDef functor::Sign::op = elementwise_op<functor::Sign>(no_gradient);

Tensor sign(Tensor x) { return apply1(functor::Sign::op, {x}); }

const OpDef functor::Floor::op = elementwise_op<functor::Floor>(no_gradient);

Tensor floor(Tensor x) { return apply1(functor::Floor::op, {x}); }

}  // namespace belfry
