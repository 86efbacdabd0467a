#include <algorithm>
#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<BatchNormOptions>();
  const TensorType& x = c.inputs[0];
  TensorType channel = check_norm(c.op, x, c.inputs[1], c.inputs[2], o.epsilon);
  ensure(c.inputs.size() == (o.residual ? 4 : 3), c.op, ": ", c.inputs.size(), " inputs");
  if (o.residual) require_type(c.op, "residual", c.inputs[3], x);
  std::vector<TensorType> outputs{x, channel, channel, channel};
  if (o.mask) outputs.push_back(relu_mask_type(c.op, x));
  return outputs;
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<BatchNormOptions>();
  Tensor x = c.input(0), mean = c.output(1), inv_std = c.output(3);
  std::vector<Tensor> grads(c.node().inputs().size());
  if (c.dy(0).defined()) {
    std::vector<Tensor> inputs = {c.dy(0), x, c.input(1), mean, inv_std};
    if (o.activation != Activation::none) inputs.push_back(c.output(0));
    Node& node = apply(batch_norm_grad_op, inputs, BatchNormGradOptions{o.activation, o.residual});
    for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = Tensor(node, i);
  }
  Tensor part = statistics_gradient(x, mean, inv_std, {c.dy(1), c.dy(2), c.dy(3)});
  grads[0] = add_defined(grads[0], part);
  return grads;
}

template <class T, class S>
void run(const KernelContext& c) {
  const auto& o = c.as<BatchNormOptions>();
  const T *x = c.input(0).as<T>(), *residual = o.residual ? c.input(3).as<T>() : nullptr;
  const S *scale = c.input(1).as<S>(), *offset = c.input(2).as<S>();
  T* y = c.output(0).as<T>();
  auto* mask = o.mask ? c.output(4).as<std::uint8_t>() : nullptr;
  if (mask) std::fill_n(mask, c.output(4).elements(), 0);
  std::int64_t channels = c.output(1).elements();
  for (std::int64_t k = 0; k < channels; ++k) {
    Series column{k, channels, c.input(0).elements() / channels};
    Moments m = moments(x, column);
    c.output(1).as<S>()[k] = static_cast<S>(m.mean);
    c.output(2).as<S>()[k] = static_cast<S>(m.variance);
    c.output(3).as<S>()[k] = static_cast<S>(1 / std::sqrt(m.variance + o.epsilon));
    // As it is computed again, from what is kept.
    BatchNormColumn<T, S> normal{.x = x,
                                 .residual = residual,
                                 .mean = c.output(1).as<S>()[k],
                                 .inv_std = c.output(3).as<S>()[k],
                                 .scale = scale[k],
                                 .offset = offset[k],
                                 .activation = o.activation};
    for (std::int64_t i = 0; i < column.size; ++i) {
      std::int64_t at = column.at(i);
      double value = normal(at);
      y[at] = store<T>(value);
      if (mask && value > 0) mask[at / 8] |= 1 << at % 8;
    }
  }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    run<T, statistics_of<T>>(c);
  });
}

// An element's part in the mean (1) and in the variance (3), and one factor and one term (2).
double flops(const Node& node) { return 6.0 * node.input(0).shape().elements(); }

}  // namespace

const OpDef batch_norm_train_op{.name = "batch_norm_train",
                                .shape = shape,
                                .gradient = gradient,
                                .reference = reference,
                                .flops = flops};

BatchNormResult batch_norm_train(Tensor x, Tensor scale, Tensor offset, double epsilon) {
  Node& node = apply(batch_norm_train_op, {x, scale, offset}, BatchNormOptions{.epsilon = epsilon});
  return {Tensor(node, 0), Tensor(node, 1), Tensor(node, 2)};
}

Tensor batch_norm_inference(Tensor x, Tensor scale, Tensor offset, Tensor mean, Tensor variance,
                            double epsilon) {
  constexpr std::string_view name = "batch_norm_inference";
  check_at(x, [&] {
    TensorType channel = check_norm(name, x.type(), scale.type(), offset.type(), epsilon);
    require_type(name, "mean", mean.type(), channel);
    require_type(name, "variance", variance.type(), channel);
  });
  // One factor and one term a channel, which are constants when all four are.
  Tensor factor = scale * rsqrt(variance + epsilon);
  Tensor term = offset - mean * factor;
  return cast(cast(x, factor.dtype()) * factor + term, x.dtype());
}

}  // namespace belfry
