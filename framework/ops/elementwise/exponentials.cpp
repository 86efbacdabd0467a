#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> exp_gradient(const GradContext& c) { return {c.dy() * c.output()}; }

std::vector<Tensor> expm1_gradient(const GradContext& c) { return {c.dy() * (c.output() + 1)}; }

std::vector<Tensor> log_gradient(const GradContext& c) { return {c.dy() / c.input()}; }

std::vector<Tensor> log1p_gradient(const GradContext& c) { return {c.dy() / (c.input() + 1)}; }

}  // namespace

const OpDef functor::Exp::op = elementwise_op<functor::Exp>(exp_gradient, Autocast::f32);

Tensor exp(Tensor x) { return apply1(functor::Exp::op, {x}); }

const OpDef functor::Expm1::op = elementwise_op<functor::Expm1>(expm1_gradient, Autocast::f32);

Tensor expm1(Tensor x) { return apply1(functor::Expm1::op, {x}); }

const OpDef functor::Log::op = elementwise_op<functor::Log>(log_gradient, Autocast::f32);

Tensor log(Tensor x) { return apply1(functor::Log::op, {x}); }

const OpDef functor::Log1p::op = elementwise_op<functor::Log1p>(log1p_gradient, Autocast::f32);

Tensor log1p(Tensor x) { return apply1(functor::Log1p::op, {x}); }

}  // namespace belfry
