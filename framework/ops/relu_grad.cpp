#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  return {sum_to(relu_grad(c.dy(), c.input(1)), c.input(0).shape()), {}};
}

}  // namespace

const OpDef relu_grad_op = elementwise_op<functor::ReluGrad>(gradient);

Tensor relu_grad(Tensor dy, Tensor y) { return apply1(relu_grad_op, {dy, y}); }

}  // namespace belfry
