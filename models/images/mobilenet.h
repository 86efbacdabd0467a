#pragma once
// Networks for small devices (Sandler et al., "MobileNetV2", CVPR 2018).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of mobilenet_v2().
struct MobilenetOptions {
  std::int64_t classes = 1000;        ///< at least 2
  double width = 1;                   ///< factor of all numbers of filters, rounded to eights
  double batch_norm_momentum = 0.99;  ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;       ///< see BatchNormLayerOptions::sync
  float dropout = 0.2f;               ///< of the last features, in [0, 1)
  /// For all variables.
  Optimizer optimizer = momentum({.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 4e-5});
  BELFRY_FIELDS(classes, width, batch_norm_momentum, sync_batch_norm, dropout, optimizer)
};

/// Their table 2: inverted residual blocks, in which a 1 x 1 convolution widens the image six
/// times, a 3 x 3 one sees each channel by itself, and a 1 x 1 one without activation narrows it
/// again. For 1000 classes and a width of 1, 3,504,872 parameters. A width below 1 leaves the last
/// convolution at 1280 filters.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, h, w, 3], "label" i64 [n]. Error:
/// a width that is not above 0.
ModelFn mobilenet_v2(MobilenetOptions options = {});

}  // namespace belfry::models
