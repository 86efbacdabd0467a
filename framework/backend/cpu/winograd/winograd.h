#pragma once
// Convolutions by Winograd's method, for windows of 2x2 to 5x5 and 1x3 to 1x5 taps that move by one
// pixel and of 4x4 to 6x6 that move by two, and for such windows three planes deep; of f32, bf16
// and f16, computed in f32. Results and gradients with respect to the input have the same bits on
// any number of threads; gradients with respect to the kernel may not. For errors see README,
// "Winograd".

#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// Kernels of a convolution and of its two gradients; null where the method does not apply or is
/// slower than the direct one, and where the options ask for exact convolutions.
std::unique_ptr<Kernel> winograd_forward(const Node& node, const KernelOptions& options);
std::unique_ptr<Kernel> winograd_grad_input(const Node& node, const KernelOptions& options);
std::unique_ptr<Kernel> winograd_grad_kernel(const Node& node, const KernelOptions& options);

}  // namespace belfry::cpu
