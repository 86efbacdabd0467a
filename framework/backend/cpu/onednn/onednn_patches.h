#pragma once
// Gradients of convolutions as matrix products of patches, by oneDNN.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// dw [(d,) h, w, in, out] from x [n, (d,) h, w, in] and dy [n, (d,) h, w, out]. Null where the
/// primitive for convolutions is faster (README, "Convolutions"), for groups, and for types but
/// f32, and bf16 where the processor multiplies it. Pixels outside an image count as zeros: where
/// dy is not finite, neither are taps that read them. Bits may depend on the number of threads.
/// Throws dnnl::error, which make_onednn_kernel() catches.
std::unique_ptr<Kernel> patches_grad_kernel(const Node& node, const ConvGeometry& g, int threads);
/// dx from dy and the kernel, of images in bf16 alone. Where the kernel is not finite, neither are
/// pixels at the borders. Otherwise as above.
std::unique_ptr<Kernel> patches_grad_input(const Node& node, const ConvGeometry& g, int threads);

}  // namespace belfry::cpu
