#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<BatchNormRecomputeOptions>();
  const TensorType& x = c.inputs[0];
  TensorType channel = check_norm(c.op, x, c.inputs[1], c.inputs[2], 0);
  ensure(c.inputs.size() == (o.residual ? 6 : 5), c.op, ": ", c.inputs.size(), " inputs");
  require_type(c.op, "mean", c.inputs[3], channel);
  require_type(c.op, "inverse standard deviation", c.inputs[4], channel);
  if (o.residual) require_type(c.op, "residual", c.inputs[5], x);
  return {x};
}

std::vector<Tensor> compose(const GradContext& c, std::span<const Tensor> inputs) {
  const auto& o = c.as<BatchNormRecomputeOptions>();
  Tensor x = inputs[0], scale = inputs[1], offset = inputs[2], mean = inputs[3],
         inv_std = inputs[4];
  Tensor y = (cast(x, scale.dtype()) - mean) * inv_std * scale + offset;
  if (o.residual) y = y + cast(inputs[5], scale.dtype());
  if (o.activation == Activation::relu) y = relu(y);
  return {cast(y, x.dtype())};
}

std::vector<Tensor> gradient(const GradContext& c) { return composed_gradient(c, compose); }

template <class T, class S>
void run(const KernelContext& c) {
  const auto& o = c.as<BatchNormRecomputeOptions>();
  T* y = c.output().as<T>();
  std::int64_t channels = c.input(1).elements();
  for (std::int64_t k = 0; k < channels; ++k) {
    BatchNormColumn<T, S> normal{.x = c.input(0).as<T>(),
                                 .residual = o.residual ? c.input(5).as<T>() : nullptr,
                                 .mean = c.input(3).as<S>()[k],
                                 .inv_std = c.input(4).as<S>()[k],
                                 .scale = c.input(1).as<S>()[k],
                                 .offset = c.input(2).as<S>()[k],
                                 .activation = o.activation};
    Series column{k, channels, c.input(0).elements() / channels};
    for (std::int64_t i = 0; i < column.size; ++i) y[column.at(i)] = store<T>(normal(column.at(i)));
  }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    run<T, statistics_of<T>>(c);
  });
}

std::vector<int> in_place(const Node&) { return {0}; }

double flops(const Node& node) { return 2.0 * node.output().shape.elements(); }

}  // namespace

const OpDef batch_norm_recompute_op{.name = "batch_norm_recompute",
                                    .shape = shape,
                                    .gradient = gradient,
                                    .reference = reference,
                                    .in_place = in_place,
                                    .flops = flops};

}  // namespace belfry
