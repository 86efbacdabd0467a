#pragma once
// Fully connected networks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/models/heads.h"

namespace belfry::models {

/// Options of mlp().
struct MlpOptions {
  std::string feature = "image";             ///< floating [n, ...]; its rows are flattened
  std::vector<std::int64_t> hidden = {128};  ///< units of the hidden layers, each with ReLU
  std::int64_t classes = 10;                 ///< at least 2; not looked at where a head is set
  float dropout = 0;                         ///< of each hidden layer, in [0, 1)
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  Head head = {};  ///< what it learns; none: multi_class_head() of `classes`
  BELFRY_FIELDS(feature, hidden, classes, dropout, optimizer, head)
};

/// A multilayer perceptron. Features: the one named, and those of its head (not in predict mode),
/// which are "label" i64 [n] unless it says otherwise; predictions and metrics are the head's.
ModelFn mlp(MlpOptions options = {});

/// Options of hidden_layers().
struct HiddenOptions {
  std::vector<std::int64_t> units = {};  ///< of each layer
  float dropout = 0;                     ///< of each layer, in [0, 1)
};
/// Error of `function`, whose fields they are, unless they make sense.
void check(std::string_view function, const HiddenOptions& options);
/// The hidden layers alone, hidden1, hidden2, ... under `s`: x [n, k] to [n, units.back()].
Tensor hidden_layers(const Scope& s, Tensor x, Mode mode, const HiddenOptions& options);

}  // namespace belfry::models
