#pragma once
// The fully connected layer.

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

}  // namespace belfry
