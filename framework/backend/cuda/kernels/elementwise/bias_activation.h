#pragma once
// The bias and activation behind a product in a fused node, where the library that multiplies does
// not do it. Internal to backend/cuda.

#include <cstdint>

#include "belfry/framework/tensor/dtype.h"

namespace belfry {
class Stream;
}

namespace belfry::cuda {

struct BiasActivation {
  DType dtype = DType::f32;  ///< floating
  std::int64_t rows = 0, columns = 0;
  bool relu = false;
};

/// Enqueues y [rows, columns] += bias [columns], if that is not null, then ReLU, if asked, which
/// leaves NaN NaN. Both addresses are multiples of 16.
void enqueue_bias_activation(Stream& stream, const BiasActivation& what, void* y, const void* bias);

}  // namespace belfry::cuda
