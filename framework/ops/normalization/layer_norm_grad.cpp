#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/normalization/norm.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &x = c.inputs[1], &scale = c.inputs[2];
  require_type(c.op, "output gradient", c.inputs[0], x);
  check_norm(c.op, x, scale, scale, 0);
  TensorType row = row_type(x);
  require_type(c.op, "mean", c.inputs[3], row);
  require_type(c.op, "inverse standard deviation", c.inputs[4], row);
  return {x, scale, scale};
}

std::vector<Tensor> compose(const GradContext&, std::span<const Tensor> inputs) {
  Tensor x = inputs[1], scale = inputs[2];
  Shape column = x.shape().with(x.rank() - 1, 1);
  DType statistics = scale.dtype();
  Tensor dy = cast(inputs[0], statistics), inv_std = reshape(inputs[4], column);
  Tensor normal = (cast(x, statistics) - reshape(inputs[3], column)) * inv_std;
  Tensor dnormal = dy * scale;
  ReduceOptions over_row{.axes = {-1}, .keep_dims = true};
  Tensor dx =
      inv_std * (dnormal - mean(dnormal, over_row) - normal * mean(dnormal * normal, over_row));
  return {cast(dx, x.dtype()), sum_to(dy * normal, scale.shape()), sum_to(dy, scale.shape())};
}

std::vector<Tensor> gradient(const GradContext& c) { return composed_gradient(c, compose); }

template <class T, class S>
struct Rows {
  explicit Rows(const KernelContext& c)
      : dy(c.input(0).as<T>()),
        x(c.input(1).as<T>()),
        scale(c.input(2).as<S>()),
        mean(c.input(3).as<S>()),
        inv_std(c.input(4).as<S>()),
        count(c.input(3).elements()),
        channels(c.input(2).elements()) {}
  double normal(std::int64_t r, std::int64_t k) const {
    return (load(x[r * channels + k]) - double{mean[r]}) * double{inv_std[r]};
  }
  double gradient(std::int64_t r, std::int64_t k) const { return load(dy[r * channels + k]); }

  const T *dy, *x;
  const S *scale, *mean, *inv_std;
  std::int64_t count, channels;
};

template <class T, class S>
void parameters(const Rows<T, S>& rows, S* dscale, S* doffset) {
  for (std::int64_t k = 0; k < rows.channels; ++k) {
    double scale_sum = 0, offset_sum = 0;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      scale_sum += rows.gradient(r, k) * rows.normal(r, k);
      offset_sum += rows.gradient(r, k);
    }
    dscale[k] = static_cast<S>(scale_sum);
    doffset[k] = static_cast<S>(offset_sum);
  }
}

template <class T, class S>
void input(const Rows<T, S>& rows, T* dx) {
  double channels = static_cast<double>(rows.channels);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    double sum = 0, weighted = 0;
    for (std::int64_t k = 0; k < rows.channels; ++k) {
      double g = rows.gradient(r, k) * double{rows.scale[k]};
      sum += g;
      weighted += g * rows.normal(r, k);
    }
    for (std::int64_t k = 0; k < rows.channels; ++k) {
      double g = rows.gradient(r, k) * double{rows.scale[k]};
      double value = g - (sum + rows.normal(r, k) * weighted) / channels;
      dx[r * rows.channels + k] = store<T>(double{rows.inv_std[r]} * value);
    }
  }
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    using S = statistics_of<T>;
    Rows<T, S> rows(c);
    parameters(rows, c.output(1).as<S>(), c.output(2).as<S>());
    input(rows, c.output(0).as<T>());  // last: dx may take the place of dy
  });
}

std::vector<int> in_place(const Node&) { return {0}; }

}  // namespace

const OpDef layer_norm_grad_op{.name = "layer_norm_grad",
                               .shape = shape,
                               .gradient = gradient,
                               .reference = reference,
                               .in_place = in_place};

}  // namespace belfry
