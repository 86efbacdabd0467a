#pragma once
// The arguments that the host hands to a compiled chain of elementwise ops. Read by NVRTC too.

#include "belfry/framework/backend/cuda/kernels/offsets.h"

namespace belfry::cuda {

/// As in ops/elementwise/fused_elementwise.h, which NVRTC cannot read.
constexpr int most_fused_inputs = 12;

struct FusedArguments {
  const void* in[most_fused_inputs];
  void* out;
  std::int64_t count;                ///< elements of the output
  Layout<most_fused_inputs> layout;  ///< of the inputs that walk by it; strides of the others are 0
};

}  // namespace belfry::cuda
