#include <algorithm>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<BatchNormGradOptions>();
  const TensorType &x = c.inputs[1], &scale = c.inputs[2];
  bool activated = o.activation != Activation::none;
  ensure(activated || o.gate == ReluGate::output, c.op, ": a gate of no activation");
  ensure(c.inputs.size() == (activated ? 6 : 5), c.op, ": ", c.inputs.size(), " inputs");
  require_type(c.op, "output gradient", c.inputs[0], x);
  check_norm(c.op, x, scale, scale, 0);
  require_type(c.op, "mean", c.inputs[3], scale);
  require_type(c.op, "inverse standard deviation", c.inputs[4], scale);
  if (activated)
    require_type(c.op, to_string(o.gate), c.inputs[5],
                 o.gate == ReluGate::output   ? x
                 : o.gate == ReluGate::offset ? scale
                                              : relu_mask_type(c.op, x));
  std::vector<TensorType> outputs = {x, scale, scale};
  if (o.residual) outputs.push_back(x);
  return outputs;
}

std::vector<Tensor> compose(const GradContext& c, std::span<const Tensor> inputs) {
  const auto& o = c.as<BatchNormGradOptions>();
  Tensor dy = inputs[0], x = inputs[1], scale = inputs[2], mean = inputs[3], inv_std = inputs[4];
  DType statistics = scale.dtype();
  Tensor normal = (cast(x, statistics) - mean) * inv_std;
  bool relu = o.activation == Activation::relu;
  ensure(o.gate != ReluGate::mask, "batch_norm_grad: masks are made behind all gradients");
  if (relu && o.gate == ReluGate::output) dy = relu_grad(dy, inputs[5]);
  std::vector<int> axes;
  for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
  double count = std::max(1.0, static_cast<double>(x.shape().elements() / x.size(-1)));
  Tensor wide_dy = cast(dy, statistics);
  if (relu && o.gate == ReluGate::offset) wide_dy = relu_grad(wide_dy, normal * scale + inputs[5]);
  Tensor dscale = sum(wide_dy * normal, {.axes = axes});
  Tensor doffset = sum(wide_dy, {.axes = axes});
  Tensor dx = scale * inv_std * (wide_dy - (doffset + normal * dscale) / count);
  std::vector<Tensor> outputs = {cast(dx, x.dtype()), dscale, doffset};
  if (o.residual) outputs.push_back(cast(wide_dy, x.dtype()));
  return outputs;
}

std::vector<Tensor> gradient(const GradContext& c) { return composed_gradient(c, compose); }

template <class T, class S>
void run(const KernelContext& c) {
  const auto& o = c.as<BatchNormGradOptions>();
  bool relu = o.activation == Activation::relu;
  const T *dy = c.input(0).as<T>(), *x = c.input(1).as<T>();
  auto is_gate = [&](ReluGate gate) { return relu && o.gate == gate; };
  const T* y = is_gate(ReluGate::output) ? c.input(5).as<T>() : nullptr;
  const S* offset = is_gate(ReluGate::offset) ? c.input(5).as<S>() : nullptr;
  const auto* mask = is_gate(ReluGate::mask) ? c.input(5).as<std::uint8_t>() : nullptr;
  T* dx = c.output(0).as<T>();
  T* dresidual = o.residual ? c.output(3).as<T>() : nullptr;
  std::int64_t channels = c.output(1).elements();
  for (std::int64_t k = 0; k < channels; ++k) {
    Series column{k, channels, c.input(0).elements() / channels};
    double scale = c.input(2).as<S>()[k], mean = c.input(3).as<S>()[k],
           inv_std = c.input(4).as<S>()[k];
    auto normal = [&](std::int64_t at) { return (load(x[at]) - mean) * inv_std; };
    auto gradient = [&](std::int64_t at) {
      if (y && !(load(y[at]) > 0)) return 0.0;
      if (mask && (mask[at / 8] >> at % 8 & 1) == 0) return 0.0;
      if (offset && !(normal(at) * scale + double{offset[k]} > 0)) return 0.0;
      return load(dy[at]);
    };
    double dscale = 0, doffset = 0;
    for (std::int64_t i = 0; i < column.size; ++i) {
      double g = gradient(column.at(i));
      dscale += g * normal(column.at(i));
      doffset += g;
    }
    c.output(1).as<S>()[k] = static_cast<S>(dscale);
    c.output(2).as<S>()[k] = static_cast<S>(doffset);
    double factor = scale * inv_std;
    double count = column.size;
    for (std::int64_t i = 0; i < column.size; ++i) {
      std::int64_t at = column.at(i);
      double g = gradient(at);
      if (dresidual) dresidual[at] = store<T>(g);
      dx[at] = store<T>(factor * (g - (doffset + normal(at) * dscale) / count));
    }
  }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    run<T, statistics_of<T>>(c);
  });
}

std::vector<int> in_place(const Node&) { return {0}; }

}  // namespace

const OpDef batch_norm_grad_op{.name = "batch_norm_grad",
                               .shape = shape,
                               .gradient = gradient,
                               .reference = reference,
                               .in_place = in_place};

}  // namespace belfry
