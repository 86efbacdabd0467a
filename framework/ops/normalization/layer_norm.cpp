#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  check_norm(c.op, x, c.inputs[1], c.inputs[2], c.as<LayerNormOptions>().epsilon);
  TensorType row = row_type(x);
  return {x, row, row};
}

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor x = c.input(0), mean = c.output(1), inv_std = c.output(2);
  std::vector<Tensor> grads(3);
  if (c.dy(0).defined()) {
    Node& node = apply(layer_norm_grad_op, {c.dy(0), x, c.input(1), mean, inv_std});
    for (int i = 0; i < 3; ++i) grads[i] = Tensor(node, i);
  }
  // Only second derivatives come through the statistics: nobody else sees them.
  auto column = [&](Tensor t) {
    return t.defined() ? reshape(t, x.shape().with(x.rank() - 1, 1)) : t;
  };
  Tensor part = statistics_gradient(x, column(mean), column(inv_std),
                                    {column(c.dy(1)), Tensor(), column(c.dy(2))});
  grads[0] = add_defined(grads[0], part);
  return grads;
}

template <class T, class S>
void run(const KernelContext& c) {
  const T* x = c.input(0).as<T>();
  const S *scale = c.input(1).as<S>(), *offset = c.input(2).as<S>();
  T* y = c.output(0).as<T>();
  std::int64_t channels = c.input(1).elements(), rows = c.output(1).elements();
  for (std::int64_t r = 0; r < rows; ++r) {
    Series row{r * channels, 1, channels};
    Moments m = moments(x, row);
    double inv_std = 1 / std::sqrt(m.variance + c.as<LayerNormOptions>().epsilon);
    c.output(1).as<S>()[r] = static_cast<S>(m.mean);
    c.output(2).as<S>()[r] = static_cast<S>(inv_std);
    for (std::int64_t k = 0; k < channels; ++k)
      y[row.at(k)] =
          store<T>((load(x[row.at(k)]) - m.mean) * inv_std * double{scale[k]} + double{offset[k]});
  }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    run<T, statistics_of<T>>(c);
  });
}

// An element's part in the mean (1) and in the variance (3), then minus the mean, times the row's
// factor, times scale, plus offset (4).
double flops(const Node& node) { return 8.0 * node.input(0).shape().elements(); }

}  // namespace

const OpDef layer_norm_op{.name = "layer_norm",
                          .shape = shape,
                          .gradient = gradient,
                          .reference = reference,
                          .flops = flops};

Tensor layer_norm(Tensor x, Tensor scale, Tensor offset, double epsilon) {
  return apply1(layer_norm_op, {x, scale, offset}, LayerNormOptions{.epsilon = epsilon});
}

Tensor group_norm(Tensor x, Tensor scale, Tensor offset, int groups, double epsilon) {
  constexpr std::string_view name = "group_norm";
  check_at(x, [&] {
    check_norm(name, x.type(), scale.type(), offset.type(), epsilon);
    require(x.rank() >= 2, name, ": input must be [n, ..., c], got ", x.type());
    require(groups >= 1 && x.size(-1) % groups == 0, name, ": ", x.size(-1),
            " channels cannot be divided into ", groups, " groups");
  });
  std::int64_t n = x.size(0), channels = x.size(-1), space = 1;
  for (int i = 1; i + 1 < x.rank(); ++i) space *= x.size(i);
  Shape grouped{n, space, groups, channels / groups};
  ReduceOptions over_group{.axes = {1, 3}, .keep_dims = true};
  Tensor wide = reshape(cast(x, scale.dtype()), grouped);
  Tensor centred = wide - mean(wide, over_group);
  Tensor normal = centred * rsqrt(mean(square(centred), over_group) + epsilon);
  return cast(reshape(normal, x.shape()) * scale + offset, x.dtype());
}

}  // namespace belfry
