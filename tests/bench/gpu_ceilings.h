#pragma once
// The ceilings of a GPU, measured, and the kernels of a step beside them.

#include <cstdint>

#include "belfry/framework/train/step/session.h"

namespace belfry::bench {

struct Ceilings {
  double bytes = 0;      ///< a second, read and written, of a copy
  double flops_f32 = 0;  ///< a second, of a product of f32 with its factors as they are
  double flops_tf32 = 0;
  double flops_bf16 = 0;
};

/// Medians over a copy of `bytes` bytes and products of two matrices [size, size].
Ceilings measure_ceilings(Device& device, std::int64_t bytes, std::int64_t size);

/// Runs a step of a training whose batch is built (of a GAN the first half of a round), timing each
/// kernel, and prints a line of JSON for the ceilings, one for each kind of kernel, and one for
/// each of the ten that lose most against the ceilings. A step that is timed is launched kernel by
/// kernel: one that takes less than about 5 us shows the launch.
void print_kernels(Session& session, StepDriver& driver, const Ceilings& ceilings);

}  // namespace belfry::bench
