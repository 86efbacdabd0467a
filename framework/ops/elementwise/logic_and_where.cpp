#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> where_gradient(const GradContext& c) {
  Tensor zero = constant(c.dy().graph(), 0, c.dy().dtype());
  return {{},
          sum_to(where(c.input(0), c.dy(), zero), c.input(1).shape()),
          sum_to(where(c.input(0), zero, c.dy()), c.input(2).shape())};
}

}  // namespace

const OpDef functor::LogicalAnd::op = elementwise_op<functor::LogicalAnd>(no_gradient);

Tensor logical_and(Tensor a, Tensor b) { return apply1(functor::LogicalAnd::op, {a, b}); }

const OpDef functor::LogicalOr::op = elementwise_op<functor::LogicalOr>(no_gradient);

Tensor logical_or(Tensor a, Tensor b) { return apply1(functor::LogicalOr::op, {a, b}); }

const OpDef functor::LogicalNot::op = elementwise_op<functor::LogicalNot>(no_gradient);

Tensor logical_not(Tensor x) { return apply1(functor::LogicalNot::op, {x}); }

const OpDef functor::Where::op = elementwise_op<functor::Where>(where_gradient);

Tensor where(Tensor condition, Tensor a, Tensor b) {
  return apply1(functor::Where::op, {condition, a, b});
}

}  // namespace belfry
