#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor y = c.output();
  return {c.dy() * y * (1 - y)};
}

}  // namespace

const OpDef sigmoid_op = elementwise_op<functor::Sigmoid>(gradient);

Tensor sigmoid(Tensor x) { return apply1(sigmoid_op, {x}); }

}  // namespace belfry
