#pragma once
// The fully connected layer, and the embedding.

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

struct DenseOptions {
  std::int64_t units;  ///< size of the result's last axis; required
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [..., in] -> [..., units]: x times `kernel` [in, units] plus `bias` [units], variables under
/// `s` with the dtype of x. Error: units below 1, or x has fewer than two axes.
Tensor dense(const Scope& s, Tensor x, DenseOptions options);

struct EmbeddingOptions {
  std::int64_t rows;   ///< number of ids; required
  std::int64_t width;  ///< size of each vector; required
  Initializer initializer = uniform(-0.05, 0.05);
  DType dtype = DType::f32;
};
/// A learnt vector for each id: ids (i32 or i64, any shape) -> ids.shape + [width], rows of the
/// variable `table` [rows, width] under `s`. Error: rows or width below 1; when the step runs, an
/// id outside 0..rows-1.
Tensor embedding(const Scope& s, Tensor ids, EmbeddingOptions options);

}  // namespace belfry
