#pragma once
// Adversarial losses: what the two networks of a GAN minimise.

#include <cstdint>
#include <functional>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::gan {

/// A GAN in a training step: data, and what the discriminator says of them.
struct GanModel {
  Tensor real = {},           ///< data [n, ...]
      generated = {};         ///< of the same shape and type
  Tensor real_logits = {},    ///< floating, any shape; above 0: looks real
      generated_logits = {};  ///< likewise
  /// The discriminator with the same weights on other data like `real`.
  std::function<Tensor(Tensor data)> discriminator = {};
  Scope scope;           ///< for random numbers
  bool training = true;  ///< whether a loss may keep something for later steps, see tensor_pool.h
};

/// The loss of each network, a scalar: a mean over all logits. A value; copies share the functions.
struct Loss {
  std::function<Tensor(const GanModel&)> generator,  ///< must be set
      discriminator;                                 ///< likewise
};

// Below, r are the real logits, f those of generated data, E the mean, s(x) = log(1 + exp(x)),
// which neither overflows nor cancels. NaN in a logit makes the losses that read it NaN.

/// Options of minimax() and modified().
struct MinimaxOptions {
  double label_smoothing = 0.25;  ///< of real data, in [0, 1]
};
/// Discriminator: E[s(-r)] + E[s(f)]; generator: -E[s(f)] (Goodfellow et al., "Generative
/// adversarial nets", NeurIPS 2014, equation 1). With label smoothing a the discriminator's target
/// for real data is 1 - a / 2 in place of 1, as in TF-GAN, whose generator's loss is smaller by the
/// constant s(-1).
Loss minimax(const MinimaxOptions& options = {});
/// The same discriminator; generator: E[s(-f)], which has a gradient while the discriminator is
/// still sure (section 3 there).
Loss modified(const MinimaxOptions& options = {});

/// Options of least_squares().
struct LeastSquaresOptions {
  double real = 1,  ///< the discriminator's target for real logits
      fake = 0,     ///< and for those of generated data
      wanted = 1;   ///< the generator's target
};
/// Discriminator: (E[(r - real)^2] + E[(f - fake)^2]) / 2; generator: E[(f - wanted)^2] / 2 (Mao et
/// al., "Least squares generative adversarial networks", ICCV 2017, equation 2).
Loss least_squares(const LeastSquaresOptions& options = {});

/// Discriminator: E[f] - E[r]; generator: -E[f] (Arjovsky et al., "Wasserstein GAN", ICML 2017).
/// The discriminator must be kept smooth: by with_gradient_penalty(), by layers as
/// spectral_conv2d(), or by an optimizer with clip_weights().
Loss wasserstein();

/// Discriminator: E[max(0, 1 - r)] + E[max(0, 1 + f)]; generator: -E[f] (Miyato et al., "Spectral
/// normalization", ICLR 2018, equations 16 and 17).
Loss hinge();

/// Discriminator: E[s(-(r - E[f]))] + E[s(f - E[r])]; generator: the same with r and f exchanged
/// (Jolicoeur-Martineau, "The relativistic discriminator", ICLR 2019, section 4.1). The inner means
/// are over the rows of all towers.
Loss relativistic_average();

/// Keeps the length of the discriminator's gradient near `target` between real and generated data:
/// weight * E[max(0 if one_sided, |g| / target - 1)^2], where g is the gradient of the logits'
/// sum with respect to x, |g|^2 = sum over a row + epsilon, x = real + u (generated - real), and u
/// is drawn uniformly from [0, 1) for each row (Gulrajani et al., "Improved training of Wasserstein
/// GANs", NeurIPS 2017, algorithm 1). A discriminator that mixes rows, as batch norm does, has no
/// gradient of its own for each row; use layer norm. In f32 it is infinite where |g| / target is
/// above 2^64, as its square is.
struct GradientPenaltyOptions {
  double weight = 10;      ///< at least 0
  double target = 1;       ///< above 0
  double epsilon = 1e-10;  ///< at least 0; keeps the root's gradient finite
  bool one_sided = false;  ///< only lengths above the target count
};
/// The penalty alone, without its weight. Error: real and generated data differ in type.
Tensor gradient_penalty(const GanModel& model, const GradientPenaltyOptions& options = {});
/// `loss` with the penalty added to the discriminator's. Error: an option is out of range.
Loss with_gradient_penalty(Loss loss, const GradientPenaltyOptions& options = {});

/// E|a - b| over all elements, for both directions of a cycle: real data against what comes back
/// when they are carried over and back (Zhu et al., "CycleGAN", ICCV 2017, equation 2). Not
/// weighted.
Tensor cycle_consistency(Tensor x, Tensor x_back, Tensor y, Tensor y_back);

/// A main loss with an adversarial one added: by a fixed weight, or so that, in each step, the
/// norm of the main loss' gradient with respect to `variables` is `gradient_ratio` times that of
/// the weighted adversarial loss. Exactly one of the two is set.
struct CombineOptions {
  std::optional<double> weight = {};          ///< at least 0
  std::optional<double> gradient_ratio = {};  ///< above 0
  double epsilon = 1e-6;                      ///< added to the adversarial gradient's norm
  std::vector<Variable> variables = {};       ///< needed for gradient_ratio
};
/// main + weight * adversarial. Error: options that contradict this.
Tensor combine_adversarial_loss(Tensor main, Tensor adversarial, const CombineOptions& options);

}  // namespace belfry::gan
