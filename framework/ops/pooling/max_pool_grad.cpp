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
  PoolGeometry g = geometry(c.op, dy.shape, c.as<PoolGradOptions>());
  require_type(c.op, "index", c.inputs[1], {g.output(), g.index_type()});
  return {{g.input(), dy.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  return {max_pool_gather(c.dy(), c.input(1), c.as<PoolGradOptions>().window), Tensor()};
}

/// The gradients of all windows that element (n, h, w, c) has won.
template <class T, class Index>
double won(const PoolGeometry& g, const T* dy, const Index* index, std::int64_t n, std::int64_t h,
           std::int64_t w, std::int64_t c) {
  double sum = 0;
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t oh = g.rows.output_at(h, kh);
    if (oh < 0) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t ow = g.columns.output_at(w, kw);
      if (ow < 0) continue;
      std::int64_t o = g.output_index(n, oh, ow, c);
      if (index[o] == kh * g.columns.window + kw) sum += load(dy[o]);
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
    auto run = [&](const auto* index) {
      for_each_element(g.input(), [&](auto n, auto h, auto w, auto channel) {
        *dx++ = store<T>(won(g, dy, index, n, h, w, channel));
      });
    };
    if (g.index_type() == DType::u8)
      run(c.input(1).as<std::uint8_t>());
    else
      run(c.input(1).as<std::int32_t>());
  });
}

}  // namespace

const OpDef max_pool_grad_op{
    .name = "max_pool_grad", .shape = shape, .gradient = gradient, .reference = reference};

Tensor max_pool_grad(Tensor dy, Tensor index, const PoolGradOptions& options) {
  return apply1(max_pool_grad_op, {dy, index}, options);
}

}  // namespace belfry
