#include "belfry/framework/layers/losses/weighting.h"

#include <algorithm>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::layers {

Tensor fit_weights(std::string_view what, Tensor weights, const Shape& values, DType dtype) {
  auto sizes = weights.shape().sizes();
  bool fits = weights.rank() <= values.rank()
              && std::equal(sizes.begin(), sizes.end(), values.sizes().begin());
  require(fits, what, ": weights are ", weights.type(), " but must have the shape ", values,
          " or that of its leading axes");
  std::vector<std::int64_t> padded(sizes.begin(), sizes.end());
  padded.resize(static_cast<std::size_t>(values.rank()), 1);
  return cast(reshape(weights, Shape(padded)), dtype);
}

Tensor weigh(std::string_view what, Tensor values, Tensor weights) {
  if (!weights.defined()) return values;
  return values * fit_weights(what, weights, values.shape(), values.dtype());
}

Tensor full_weights(std::string_view what, Tensor weights, Tensor like) {
  Tensor fitted = weights.defined() ? fit_weights(what, weights, like.shape(), DType::f64)
                                    : constant(like.graph(), 1, DType::f64);
  return broadcast_to(fitted, like.shape());
}

}  // namespace belfry::layers
