#include <vector>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& dy = c.inputs[0];
  require_floating(c.op, "output gradient", dy);
  require(dy.shape.rank() >= 1, c.op, ": output gradient must be [..., c], got ", dy);
  require_type(c.op, "output", c.inputs[1], dy);
  return {dy, {{dy.shape[dy.shape.rank() - 1]}, statistics_type(dy.dtype)}};
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T *dy = c.input(0).as<T>(), *y = c.input(1).as<T>();
    T* dx = c.output(0).as<T>();
    std::int64_t channels = c.output(1).elements();
    std::vector<double> sums(channels);
    for (std::int64_t i = 0; i < c.input(0).elements(); ++i) {
      double g = functor::ReluGrad::apply<StdMath>(load(dy[i]), load(y[i]));
      dx[i] = store<T>(g);
      sums[i % channels] += g;
    }
    for (std::int64_t k = 0; k < channels; ++k) c.output(1).as<S>()[k] = static_cast<S>(sums[k]);
  });
}

std::vector<int> in_place(const Node&) { return {0}; }

double flops(const Node& node) { return node.input(0).shape().elements(); }

}  // namespace

const OpDef relu_grad_sum_op{.name = "relu_grad_sum",
                             .shape = shape,
                             .reference = reference,
                             .in_place = in_place,
                             .flops = flops};

}  // namespace belfry
