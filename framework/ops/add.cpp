#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {sum_to(c.dy(), c.input(0).shape()), sum_to(c.dy(), c.input(1).shape())};
}

}  // namespace

const OpDef add_op = elementwise_op<functor::Add>(gradient);

Tensor add(Tensor a, Tensor b) { return apply1(add_op, {a, b}); }

}  // namespace belfry
