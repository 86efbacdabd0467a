#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor zero = constant(c.dy().graph(), 0, c.dy().dtype());
  return {{},
          sum_to(where(c.input(0), c.dy(), zero), c.input(1).shape()),
          sum_to(where(c.input(0), zero, c.dy()), c.input(2).shape())};
}

}  // namespace

const OpDef where_op = elementwise_op<functor::Where>(gradient);

Tensor where(Tensor condition, Tensor a, Tensor b) { return apply1(where_op, {condition, a, b}); }

}  // namespace belfry
