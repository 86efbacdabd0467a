#pragma once
// Gradients of convolutions as matrix products of patches, by oneDNN.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/conv_geometry.h"

namespace belfry::cpu {

/// Null where the primitive for convolutions is faster (README, "Convolutions"), and for types but
/// f32, and bf16 where the processor multiplies it. Throw dnnl::error as make_onednn_kernel()
/// expects.
std::unique_ptr<Kernel> patches_grad_kernel(const Node& node, const ConvGeometry& g, int threads);
std::unique_ptr<Kernel> patches_grad_input(const Node& node, const ConvGeometry& g, int threads);

}  // namespace belfry::cpu
