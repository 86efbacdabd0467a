#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  require_floating(c.op, "input", x);
  require_input(c.op, x, 2);
  PoolGeometry g = pool_geometry(c.op, x.shape, c.as<Pool2dOptions>());
  return {{g.output(), x.dtype}, {g.output(), g.index_type()}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  if (!c.dy().defined()) return {Tensor()};
  return {max_pool_grad(c.dy(), c.output(1),
                        {c.as<Pool2dOptions>(), {c.input().size(1), c.input().size(2)}})};
}

/// Whether b comes before a: NaN is the largest of all, the first of equals wins.
bool wins(double b, double a) { return b > a || (std::isnan(b) && !std::isnan(a)); }

struct Winner {
  double value;
  std::int64_t index;  ///< place in the window
};

template <class T>
Winner winner(const PoolGeometry& g, const T* x, std::int64_t n, std::int64_t oh, std::int64_t ow,
              std::int64_t c) {
  Winner best{0, -1};
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t h = g.rows.input_at(oh, kh);
    if (!g.rows.inside(h)) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t w = g.columns.input_at(ow, kw);
      if (!g.columns.inside(w)) continue;
      double value = load(x[g.input_index(n, h, w, c)]);
      if (best.index < 0 || wins(value, best.value)) best = {value, kh * g.columns.window + kw};
    }
  }
  return best;
}

void reference(const KernelContext& c) {
  PoolGeometry g = pool_geometry(c.op, c.input(0).shape(), c.as<Pool2dOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output(0).as<T>();
    auto run = [&](auto* index) {
      using Index = std::remove_reference_t<decltype(*index)>;
      for_each_element(g.output(), [&](auto n, auto oh, auto ow, auto channel) {
        Winner best = winner(g, x, n, oh, ow, channel);
        *y++ = store<T>(best.value);
        *index++ = static_cast<Index>(best.index);
      });
    };
    if (g.index_type() == DType::u8)
      run(c.output(1).as<std::uint8_t>());
    else
      run(c.output(1).as<std::int32_t>());
  });
}

}  // namespace

const OpDef max_pool_op{.name = "max_pool",
                        .shape = shape,
                        .gradient = gradient,
                        .reference = reference,
                        .flops = pool_flops};

Tensor max_pool(Tensor x, Pool2dOptions options) { return apply1(max_pool_op, {x}, options); }

}  // namespace belfry
