#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  require_floating(c.op, "input", x);
  require_input(c.op, x, 2);
  return {{pool_geometry(c.op, x.shape, c.as<Pool2dOptions>()).output(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  return {avg_pool_grad(c.dy(), {c.as<Pool2dOptions>(), {c.input().size(1), c.input().size(2)}})};
}

/// The sum over the elements inside the image.
template <class T>
double window_sum(const PoolGeometry& g, const T* x, std::int64_t n, std::int64_t oh,
                  std::int64_t ow, std::int64_t c) {
  double sum = 0;
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t h = g.rows.input_at(oh, kh);
    if (!g.rows.inside(h)) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t w = g.columns.input_at(ow, kw);
      if (g.columns.inside(w)) sum += load(x[g.input_index(n, h, w, c)]);
    }
  }
  return sum;
}

void reference(const KernelContext& c) {
  PoolGeometry g = pool_geometry(c.op, c.input(0).shape(), c.as<Pool2dOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    for_each_element(g.output(), [&](auto n, auto oh, auto ow, auto channel) {
      *y++ = store<T>(window_sum(g, x, n, oh, ow, channel) / static_cast<double>(g.count(oh, ow)));
    });
  });
}

}  // namespace

const OpDef avg_pool_op{.name = "avg_pool",
                        .shape = shape,
                        .gradient = gradient,
                        .reference = reference,
                        .flops = pool_flops};

Tensor avg_pool(Tensor x, Pool2dOptions options) { return apply1(avg_pool_op, {x}, options); }

}  // namespace belfry
