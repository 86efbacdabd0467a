#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

Tensor layers::dense(const Scope& s, Tensor x, const DenseOptions& o,
                     const std::function<Tensor(Tensor)>& kernel_of) {
  layers::require_at(s, o.units >= 1, "dense: units must be at least 1, got ", o.units);
  layers::require_features(s, "dense", x, 2);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  Tensor kernel = s.variable("kernel", {.shape = layers::shape_at(s, {x.size(-1), o.units}),
                                        .dtype = layers::parameter_dtype(s, x),
                                        .initializer = o.kernel_initializer});
  // One large product in place of a batch of small ones.
  Tensor rows =
      x.rank() == 2 ? x : reshape(x, Shape{x.shape().elements() / x.size(-1), x.size(-1)});
  Tensor y = matmul(rows, kernel_of(kernel));
  if (o.use_bias) y = layers::add_bias(s, y, o.bias_initializer);
  return x.rank() == 2 ? y : reshape(y, x.shape().with(x.rank() - 1, o.units));
}

Tensor dense(const Scope& s, Tensor x, DenseOptions o) {
  return layers::dense(s, x, o, [](Tensor kernel) { return kernel; });
}

Tensor embedding(const Scope& s, Tensor ids, EmbeddingOptions o) {
  layers::require_at(s, o.rows >= 1, "embedding: rows must be at least 1, got ", o.rows);
  layers::require_at(s, o.width >= 1, "embedding: width must be at least 1, got ", o.width);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  Tensor table = s.variable("table", {.shape = layers::shape_at(s, {o.rows, o.width}),
                                      .dtype = o.dtype,
                                      .initializer = o.initializer});
  return embedding_lookup(table, ids);
}

}  // namespace belfry
