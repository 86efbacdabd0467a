#pragma once
// The embedding layer.

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

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
