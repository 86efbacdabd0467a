#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor zero = constant(c.dy().graph(), 0, c.dy().dtype());
  Tensor first = less_equal(c.input(0), c.input(1));
  return {sum_to(where(first, c.dy(), zero), c.input(0).shape()),
          sum_to(where(first, zero, c.dy()), c.input(1).shape())};
}

}  // namespace

const OpDef minimum_op = elementwise_op<functor::Minimum>(gradient);

Tensor minimum(Tensor a, Tensor b) { return apply1(minimum_op, {a, b}); }

}  // namespace belfry
