#pragma once
// The gradient of a convolution with respect to an image of few channels, as in the last layer of a
// GAN's generator: the matrix product of dy and all taps, whose rows are added where the taps read.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// dx [n, h, w, c] of f32, bf16 or f16, computed in f32; the same bits on any number of threads. A
/// thread takes some rows of dx. Null for more than 8 channels, groups, volumes, dilated windows,
/// signals (one row) and rows of dy above 1024 pixels.
std::unique_ptr<Kernel> few_channels_grad_input(const Node& node, const ConvGeometry& g,
                                                int threads);

}  // namespace belfry::cpu
