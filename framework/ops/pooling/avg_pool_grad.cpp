#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry {
namespace {

PoolGeometry geometry(std::string_view op, const Shape& dy, const PoolGradOptions& o) {
  return pool_grad_geometry(op, dy, o.window, o.input_size);
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& dy = c.inputs[0];
  require_floating(c.op, "output gradient", dy);
  return {{geometry(c.op, dy.shape, c.as<PoolGradOptions>()).input(), dy.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  return {avg_pool(c.dy(), c.as<PoolGradOptions>().window)};
}

/// The gradient at element (n, h, w, c), from all windows that hold it.
template <class T>
double gradient_at(const PoolGeometry& g, const T* dy, std::int64_t n, std::int64_t h,
                   std::int64_t w, std::int64_t c) {
  double sum = 0;
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t oh = g.rows.output_at(h, kh);
    if (oh < 0) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t ow = g.columns.output_at(w, kw);
      if (ow < 0) continue;
      sum += load(dy[g.output_index(n, oh, ow, c)]) / static_cast<double>(g.count(oh, ow));
    }
  }
  return sum;
}

void reference(const KernelContext& c) {
  PoolGeometry g = geometry(c.op, c.input(0).shape(), c.as<PoolGradOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* dy = c.input(0).as<T>();
    T* dx = c.output().as<T>();
    for_each_element(g.input(), [&](auto n, auto h, auto w, auto channel) {
      *dx++ = store<T>(gradient_at(g, dy, n, h, w, channel));
    });
  });
}

}  // namespace

const OpDef avg_pool_grad_op{
    .name = "avg_pool_grad", .shape = shape, .gradient = gradient, .reference = reference};

Tensor avg_pool_grad(Tensor dy, const PoolGradOptions& options) {
  return apply1(avg_pool_grad_op, {dy}, options);
}

}  // namespace belfry
