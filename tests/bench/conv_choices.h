#pragma once
// Convolutions by each way that there is for them.

#include "belfry/framework/compiler/plan.h"

namespace belfry::bench {

/// Prints a table in Markdown of the plan's convolutions and their gradients, each kind and shape
/// once: the GFLOP/s of the kernel that was chosen, of the one that is without Winograd's method,
/// and, for one tap, of the matrix product; packing included. FLOPs are those of the direct method.
void print_conv_choices(const Plan& plan, Device& device);

}  // namespace belfry::bench
