#pragma once
// The baseline that any model of the same data has to beat.

#include "belfry/models/heads.h"

namespace belfry::models {

/// Options of baseline().
struct BaselineOptions {
  Head head = binary_head();                           ///< labels, loss and predictions
  Optimizer optimizer = ftrl({.learning_rate = 0.3});  ///< of the bias
  BELFRY_FIELDS(head, optimizer)
};

/// A model that looks at no feature: its logits are a variable, baseline/bias [units], the same for
/// all rows. With enough steps it says how frequent each class is, or the mean of the labels (as
/// tf.estimator.BaselineEstimator). Features: those of the head; predict() takes a batch for its
/// number of rows. Error: the head is not set.
ModelFn baseline(BaselineOptions options = {});

}  // namespace belfry::models
