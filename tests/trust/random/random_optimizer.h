#pragma once
// An optimizer for a random training.

#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::random_models {

struct DrawnOptimizer {
  Optimizer optimizer = sgd();
  bool rounds_at_random = false;  ///< its slots have fewer bits than the variables
};

/// Any of those that there are, with options of any kind. Slots have fewer bits only if
/// `may_round`, which asks for variables in f32.
DrawnOptimizer draw_optimizer(PhiloxStream& random, bool may_round);

}  // namespace belfry::random_models
