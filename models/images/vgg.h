#pragma once
// Very deep convolutional networks (Simonyan and Zisserman, ICLR 2015).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of vgg().
struct VggOptions {
  int layers = 16;              ///< 11, 13, 16 or 19: configurations A, B, D and E of their table 1
  std::int64_t classes = 1000;  ///< at least 2
  bool batch_norm = false;      ///< behind each convolution
  double batch_norm_momentum = 0.9;  ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;      ///< see BatchNormLayerOptions::sync
  std::int64_t hidden = 4096;        ///< units of the two layers behind the convolutions
  float dropout = 0.5f;              ///< of those, in [0, 1)
  /// For all variables.
  Optimizer optimizer = momentum({.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 5e-4});
  BELFRY_FIELDS(classes, batch_norm, batch_norm_momentum, sync_batch_norm, hidden, dropout,
                optimizer)
};

/// Five stages of 3 x 3 convolutions of 64, 128, 256, 512 and 512 filters, each with 2 x 2 max
/// pooling behind it, then two hidden layers. With the defaults, for images of 224 x 224 pixels,
/// 138,357,544 parameters; other sizes change the first hidden layer.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, h, w, 3], "label" i64 [n]. Error:
/// another number of layers; images that vanish in the pooling.
ModelFn vgg(VggOptions options = {});

}  // namespace belfry::models
