#pragma once
// Residual networks for small images.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct ResnetOptions {
  std::int64_t classes = 10;
  double batch_norm_momentum = 0.9;  ///< share of the moving statistics that a step keeps
  Optimizer optimizer = momentum({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 5e-4});
};

/// ResNet-18 (He et al., "Deep residual learning for image recognition", CVPR 2016) for images of
/// about 32 x 32 pixels: a 3 x 3 stem without pooling (their section 4.2), then two basic blocks
/// each of 64, 128, 256 and 512 filters. A shortcut is the identity, or a 1 x 1 convolution where
/// the shape changes.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, 32, 32, 3], "label" i64 [n].
ModelFn resnet18(ResnetOptions options = {});

}  // namespace belfry::models
