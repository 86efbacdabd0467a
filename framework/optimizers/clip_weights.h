#pragma once
// Weights that are kept in a box (Arjovsky et al., "Wasserstein GAN", ICML 2017, algorithm 1).

#include "belfry/framework/optimizers/optimizer.h"

namespace belfry {

struct ClipWeightsOptions {
  double limit = 0.01;  ///< above 0
};
/// `optimizer`, whose updates are each followed by clipping to [-limit, limit]. What is clipped are
/// all variables that the update changes, biases and the scales of normalisations among them, and
/// nothing else: neither slots nor moving statistics, nor variables that a hook freezes. An update
/// that is left out, or whose condition is false, clips nothing. Before its first update a variable
/// is as it was initialised. Moving averages take the clipped values.
///
/// Slots have the names that the optimizer alone gives them, so a checkpoint fits both. Error: the
/// limit is not above 0.
///
///   minimize(critic_loss, clip_weights(rmsprop({.learning_rate = 5e-5})), critic.variables())
Optimizer clip_weights(Optimizer optimizer, const ClipWeightsOptions& options = {});

}  // namespace belfry
