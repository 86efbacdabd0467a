#pragma once
// Linear models of tables.

#include "belfry/models/heads.h"
#include "belfry/models/tables/columns.h"

namespace belfry::models {

/// Options of linear(). Weights begin at 0, so that the optimizer's `lazy` saves time and changes
/// no bit.
struct LinearOptions {
  Columns columns = {};       ///< at least one
  Head head = binary_head();  ///< labels, loss and predictions
  Optimizer optimizer = ftrl({.learning_rate = 0.1, .lazy = true});  ///< of all variables
  BELFRY_FIELDS(columns, head, optimizer)
};

/// Generalised linear models: logistic, softmax, linear and Poisson regression, as the head says.
/// The logits are linear_columns(), with variables in linear/. Features: those of the columns, and
/// those of the head (not in predict mode). Error, when the model is built: as
/// validate(columns).
ModelFn linear(LinearOptions options);

}  // namespace belfry::models
