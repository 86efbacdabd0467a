#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) { return {relu_grad(c.dy(), c.output())}; }

}  // namespace

const OpDef relu_op = elementwise_op<functor::Relu>(gradient);

Tensor relu(Tensor x) { return apply1(relu_op, {x}); }

}  // namespace belfry
