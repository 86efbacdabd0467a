#pragma once
// The changes to gradients between computing and applying them. Each function adds nodes and gives
// a new list with the same variables and rates.

#include <span>

#include "belfry/framework/optimizers/optimizer.h"

namespace belfry {

/// The Euclidean norm of all tensors taken as one vector, f32 []; f64 [] if any is f64. Exact to
/// rounding wherever the norm itself is a number of that type: the squares are scaled, so that they
/// neither overflow nor vanish. Error: there are none.
Tensor l2_norm(std::span<const Tensor> tensors);
/// The l2_norm() of all gradients.
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

struct AdaptiveClippingOptions {
  double limit = 0.01;    ///< of a unit's gradient norm to its weights' norm
  double epsilon = 1e-3;  ///< the least that a weights' norm counts as, so that zeros can be left
};
/// Scales down the gradient of each unit whose norm is above limit * max(|weights|, epsilon) (Brock
/// et al., "High-Performance Large-Scale Image Recognition Without Normalization", 2021, section
/// 4.1). A unit is one element of the last axis, where kernels have their outputs; a variable of
/// rank 0 or 1 is one unit. The paper leaves out the last layer: give its variables to another
/// update, or leave them out of `gradients`. A gradient norm that is not finite makes its unit NaN.
/// Error: a number that is not above 0.
Gradients clip_adaptive(const Gradients& gradients, const AdaptiveClippingOptions& options = {});

/// Takes the mean of each unit's gradient from it (Yong et al., "Gradient Centralization", ECCV
/// 2020, equation 1). A unit is one element of the last axis; variables of rank 0 or 1 are left
/// alone.
Gradients centralize(const Gradients& gradients);

struct GradientNoiseOptions {
  double eta = 0.01;    ///< the variance at step 0; the paper chose 0.01, 0.3 or 1.0
  double gamma = 0.55;  ///< how fast it falls
};
/// Adds normal noise of mean 0 and variance eta / (1 + global_step)^gamma to each element
/// (Neelakantan et al., "Adding Gradient Noise Improves Learning for Very Deep Networks", 2015,
/// section 3). The numbers are keyed by seed, step and the variable's name: they depend neither on
/// the list's order nor on the tower. Error: eta is not above 0, gamma is negative.
Gradients add_gradient_noise(const Gradients& gradients, const GradientNoiseOptions& options = {});

/// Divides by `scale`: gradients of `loss * scale` become those of `loss`. Error: scale is not
/// above 0.
Gradients unscale(const Gradients& gradients, double scale);

/// Whether every element of every gradient is finite, bool [].
Tensor all_finite(const Gradients& gradients);

struct WeightDecayOptions {
  double rate = 0;
  int min_rank = 2;  ///< variables of a lower rank (biases, scales of norms) are left alone
};
/// Adds rate * variable: the gradient of the penalty rate / 2 * |variable|^2.
Gradients add_weight_decay(const Gradients& gradients, const WeightDecayOptions& options);

}  // namespace belfry
