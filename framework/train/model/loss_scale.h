#pragma once
// The dynamic loss scale of training in f16. Internal to train/.

#include <cstddef>
#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry {

/// The factor of the loss of update number `update` before its gradients are taken, so that small
/// ones do not become 0 in f16: f32 [], a variable named loss_scale/<update>, at first 2^15. It is
/// doubled after 2000 steps in a row with finite gradients and halved, to 1 at least, after each
/// without (Micikevicius et al., "Mixed precision training", ICLR 2018, section 3.2; the numbers
/// are those of tf.keras.mixed_precision.LossScaleOptimizer). Error: the model has a variable of
/// this name itself.
Tensor loss_scale(Graph& graph, std::size_t update);

/// Stands right behind the averaging hook: divides the gradients by the scale, makes the update
/// conditional on their being finite, alike on all towers, and adjusts the scale.
std::shared_ptr<Hook> unscale_loss();

/// Among the hooks of a training: logs when a scale is halved or doubled, on the chief. Error: an
/// update was skipped because its gradients were not finite, at a scale of 1.
std::shared_ptr<Hook> watch_loss_scale();

}  // namespace belfry
