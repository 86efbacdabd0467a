#include "belfry/framework/layers/embedding.h"

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

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
