#pragma once
// Residual networks (He et al., "Deep residual learning for image recognition", CVPR 2016).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct ResnetOptions {
  std::int64_t classes = 10;
  double batch_norm_momentum = 0.9;  ///< share of the moving statistics that a step keeps
  Optimizer optimizer = momentum({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 5e-4});
};

/// ResNet-18 for images of about 32 x 32 pixels: a 3 x 3 stem without pooling (their section 4.2),
/// then two basic blocks each of 64, 128, 256 and 512 filters. A shortcut is the identity, or a 1 x
/// 1 convolution where the shape changes.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, 32, 32, 3], "label" i64 [n].
ModelFn resnet18(ResnetOptions options = {});

/// ResNet-50 for images of about 224 x 224 pixels: a 7 x 7 stem with stride 2 and 3 x 3 pooling,
/// then 3, 4, 6 and 3 bottleneck blocks of 64, 128, 256 and 512 filters, with four times as many at
/// their end (their table 1). Strides are in the 3 x 3 convolutions, as in most programs since
/// ("v1.5"), not in the 1 x 1 before it as in the paper. 25,557,032 parameters for 1000 classes.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, 224, 224, 3], "label" i64 [n].
ModelFn resnet50(ResnetOptions options = {.classes = 1000});

}  // namespace belfry::models
