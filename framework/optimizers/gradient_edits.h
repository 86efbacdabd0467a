#pragma once
// What is done to gradients between computing and applying them. Each function adds nodes and
// gives a new list with the same variables.

#include "belfry/framework/optimizers/optimizer.h"

namespace belfry {

/// The Euclidean norm of all gradients taken as one vector, f32 []; f64 [] if any gradient is f64.
Tensor global_norm(const Gradients& gradients);

struct ClippedGradients {
  Gradients gradients;
  Tensor norm;  ///< global_norm before clipping
};
/// Multiplies all gradients by min(1, max_norm / global_norm) (Pascanu, Mikolov and Bengio, ICML
/// 2013). When the norm is not finite all gradients become NaN, as in tf.clip_by_global_norm: the
/// step that spoilt them is not hidden. Error: max_norm is not above 0.
ClippedGradients clip_by_global_norm(const Gradients& gradients, double max_norm);

/// The same for each gradient with its own norm.
Gradients clip_by_norm(const Gradients& gradients, double max_norm);

/// Each element to [-limit, limit]. Error: limit is not above 0.
Gradients clip_by_value(const Gradients& gradients, double limit);

struct WeightDecayOptions {
  double rate = 0;
  int min_rank = 2;  ///< variables of a lower rank (biases, scales of norms) are left alone
};
/// Adds rate * variable: the gradient of the penalty rate / 2 * |variable|^2.
Gradients add_weight_decay(const Gradients& gradients, const WeightDecayOptions& options);

}  // namespace belfry
