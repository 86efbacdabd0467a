#pragma once
// Linear models of tables.

#include "belfry/models/columns.h"
#include "belfry/models/heads.h"

namespace belfry::models {

struct LinearOptions {
  Columns columns = {};  ///< at least one
  Head head = binary_head();
  Optimizer optimizer = ftrl({.learning_rate = 0.1});
};

/// Generalised linear models: logistic, softmax, linear and Poisson regression, as the head says.
/// The logits are linear_columns(), with variables in linear/. Features: those of the columns, and
/// those of the head (not in predict mode). Error, when the model is built: as
/// validate(columns).
ModelFn linear(LinearOptions options);

}  // namespace belfry::models
