#pragma once
// A small convolutional network for digits.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of lenet().
struct LenetOptions {
  std::int64_t classes = 10;   ///< at least 2
  std::int64_t hidden = 1024;  ///< units of the layer before the last
  float dropout =
      0.4f;  ///< fraction of the hidden layer that a training step leaves out, in [0, 1)
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  BELFRY_FIELDS(classes, hidden, dropout, optimizer)
};

/// LeNet in the form of TensorFlow's MNIST tutorials, after LeCun et al. ("Gradient-based learning
/// applied to document recognition", 1998): two 5 x 5 convolutions of 32 and 64 filters, each with
/// ReLU and 2 x 2 max pooling, then hidden units with ReLU.
///
/// Features: "image" f32 [n, h, w, c], "label" i64 [n] (not in predict mode). Predictions: "class"
/// i64 [n], "probabilities" f32 [n, classes], and "features" f32 [n, hidden], the hidden units;
/// metric: "accuracy".
ModelFn lenet(LenetOptions options = {});

}  // namespace belfry::models
