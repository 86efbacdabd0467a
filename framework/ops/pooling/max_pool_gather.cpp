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
  require_type(c.op, "index", c.inputs[1], {g.output(), g.index_type()});
  return {{g.output(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  return {max_pool_grad(c.dy(), c.input(1),
                        {c.as<Pool2dOptions>(), {c.input().size(1), c.input().size(2)}}),
          Tensor()};
}

void reference(const KernelContext& c) {
  PoolGeometry g = pool_geometry(c.op, c.input(0).shape(), c.as<Pool2dOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    auto run = [&](const auto* index) {
      for_each_element(g.output(), [&](auto n, auto oh, auto ow, auto channel) {
        std::int64_t position = *index++;
        std::int64_t h = g.rows.input_at(oh, position / g.columns.window);
        std::int64_t w = g.columns.input_at(ow, position % g.columns.window);
        ensure(g.rows.inside(h) && g.columns.inside(w), c.op, ": index ", position,
               " of the window at ", oh, ", ", ow, " is outside the image");
        *y++ = x[g.input_index(n, h, w, channel)];
      });
    };
    if (g.index_type() == DType::u8)
      run(c.input(1).as<std::uint8_t>());
    else
      run(c.input(1).as<std::int32_t>());
  });
}

}  // namespace

const OpDef max_pool_gather_op{
    .name = "max_pool_gather", .shape = shape, .gradient = gradient, .reference = reference};

Tensor max_pool_gather(Tensor x, Tensor index, const Pool2dOptions& options) {
  return apply1(max_pool_gather_op, {x, index}, options);
}

}  // namespace belfry
