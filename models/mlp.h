#pragma once
// Fully connected networks.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct MlpOptions {
  std::string feature = "image";             ///< floating [n, ...]; its rows are flattened
  std::vector<std::int64_t> hidden = {128};  ///< units of the hidden layers, each with ReLU
  std::int64_t classes = 10;
  float dropout = 0;  ///< of each hidden layer, in [0, 1)
  Optimizer optimizer = adam({.learning_rate = 1e-3});
};

/// A multilayer perceptron that classifies. Features: the one named, and "label" i64 [n] (not in
/// predict mode); predictions and metric as lenet().
ModelFn mlp(MlpOptions options = {});

}  // namespace belfry::models
