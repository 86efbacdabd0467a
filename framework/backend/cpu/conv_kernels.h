#pragma once
// Kernels of convolutions other than oneDNN's own primitives. Each is null where its method does
// not apply or is slower than that primitive; README, "Convolutions" and "Winograd", says when, and
// how far from exact each is.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// A convolution and its two gradients by Winograd's method, for windows of 2x2 to 5x5 and 1x3 to
/// 1x5 taps that move by one pixel and of 4x4 to 6x6 that move by two, and for such windows three
/// planes deep; of f32, bf16 and f16, computed in f32. Results and gradients with respect to the
/// input have the same bits on any number of threads; gradients with respect to the kernel may not.
std::unique_ptr<Kernel> winograd_forward(const Node& node, const KernelOptions& options);
std::unique_ptr<Kernel> winograd_grad_input(const Node& node, const KernelOptions& options);
std::unique_ptr<Kernel> winograd_grad_kernel(const Node& node, const KernelOptions& options);

/// The gradient of images of few channels, such as the last layer of a GAN's generator computes
/// forward: dx [n, h, w, c] of f32, bf16 or f16, computed in f32; the same bits on any number of
/// threads. A thread takes some rows of dx. Null for more than 8 channels, groups, volumes, dilated
/// windows, signals (one row) and rows of dy above 1024 pixels.
std::unique_ptr<Kernel> few_channels_grad_input(const Node& node, const ConvGeometry& g,
                                                int threads);

/// By matrix products of patches, which are oneDNN's: dw [(d,) h, w, in, out] from x [n, (d,) h, w,
/// in] and dy [n, (d,) h, w, out]. Null where the primitive for convolutions is faster (README,
/// "Convolutions"), unless it is wrong, for f32; for groups, and for types but f32, and bf16 where
/// the processor multiplies it.
/// Pixels outside an image count as zeros: where dy is not finite, neither are taps that read them.
/// Bits may depend on the number of threads. Throws dnnl::error, which make_onednn_kernel()
/// catches.
std::unique_ptr<Kernel> patches_grad_kernel(const Node& node, const ConvGeometry& g, int threads,
                                            bool primitive_is_wrong);
/// dx from dy and the kernel, of images in bf16 alone. Where the kernel is not finite, neither are
/// pixels at the borders. Otherwise as above.
std::unique_ptr<Kernel> patches_grad_input(const Node& node, const ConvGeometry& g, int threads);

}  // namespace belfry::cpu
