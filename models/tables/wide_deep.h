#pragma once
// Deep models of tables, alone or beside a linear one.

#include <cstdint>
#include <vector>

#include "belfry/models/heads.h"
#include "belfry/models/tables/columns.h"

namespace belfry::models {

/// Options of dnn().
struct DnnOptions {
  Columns columns = {};                          ///< at least one
  std::vector<std::int64_t> hidden = {100, 50};  ///< units of the hidden layers, each with ReLU
  float dropout = 0;                             ///< of each hidden layer, in [0, 1)
  Head head = binary_head();                     ///< labels, loss and predictions
  Optimizer optimizer = adagrad({.learning_rate = 0.05});  ///< of all variables
  BELFRY_FIELDS(columns, hidden, dropout, head, optimizer)
};

/// deep_columns() through a multilayer perceptron, with variables in deep/. Features as linear().
/// Errors as there.
ModelFn dnn(DnnOptions options);

/// Options of wide_deep().
struct WideDeepOptions {
  Columns wide = {};  ///< of the linear model: crossed columns belong here
  Columns deep = {};  ///< of the deep model
  std::vector<std::int64_t> hidden = {100, 50};  ///< see DnnOptions
  float dropout = 0;                             ///< likewise
  Head head = binary_head();                     ///< of the sum of both logits
  Optimizer wide_optimizer = ftrl({.learning_rate = 0.1, .lazy = true});  ///< of the linear model
  Optimizer deep_optimizer = adagrad({.learning_rate = 0.05});            ///< of the deep model
  BELFRY_FIELDS(wide, deep, hidden, dropout, head, wide_optimizer, deep_optimizer)
};

/// Both at once (Cheng et al., "Wide & deep learning for recommender systems", DLRS 2016): the
/// logits are the sum of those of linear(), in wide/, and of dnn(), in deep/. Each part has its own
/// update, "wide" and "deep". Features and errors as linear(), for either part.
ModelFn wide_deep(WideDeepOptions options);

}  // namespace belfry::models
