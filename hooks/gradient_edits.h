#pragma once
// Hooks that change averaged gradients before they are applied. They join the step when it is
// built, in the order of the list, and cost no call while it runs. The functions on gradients are
// in framework/optimizers/gradient_edits.h.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/optimizers/gradient_edits.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Any change of your own.
///
///   hooks::edit_gradients([](const Gradients& g) { return clip_by_norm(g, 5); })
///
/// Error: the function is empty.
std::shared_ptr<Hook> edit_gradients(std::function<Gradients(const Gradients&)> edit);

/// Belfry's clip_by_global_norm(), over the gradients of each update. Error: max_norm not above 0.
std::shared_ptr<Hook> clip_by_global_norm(double max_norm);
/// Each element to [-limit, limit]. Error: limit not above 0.
std::shared_ptr<Hook> clip_by_value(double limit);
/// Belfry's clip_adaptive(). Error: a number not above 0.
std::shared_ptr<Hook> clip_adaptive(AdaptiveClippingOptions options = {});
/// Belfry's centralize().
std::shared_ptr<Hook> centralize_gradients();
/// Belfry's add_gradient_noise(). Error: eta not above 0, gamma negative.
std::shared_ptr<Hook> gradient_noise(GradientNoiseOptions options = {});

/// Divides gradients by `scale`, for losses that are scaled up so that small gradients do not
/// vanish in 16 bits (Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2).
/// The model minimises `loss * scale` and reports `loss`; the hook stands before all others that
/// look at gradients, such as clipping:
///
///   .loss = loss, .train = minimize(loss * 1024, adam())                           in model_fn
///   .hooks = {hooks::unscale_gradients(1024), hooks::skip_non_finite(),            in train()
///             hooks::clip_by_global_norm(1)}
///
/// A power of two loses no bits. Precision::f16 scales and unscales by itself, with a scale that
/// adapts: this is for models that compute in 16 bits by casts of their own. Error: scale not above
/// 0.
std::shared_ptr<Hook> unscale_gradients(double scale);

/// Leaves variables as they are whose whole name matches one of the regular expressions
/// (ECMAScript): "encoder/.*". Their gradients are not computed if nothing else asks for them, and
/// their optimizer slots are not made. Error: no pattern, one that is no regular expression; when
/// training begins, a pattern that matches no variable of any update, or an update of which nothing
/// is left.
std::shared_ptr<Hook> freeze(std::vector<std::string> patterns);

struct RateMultiplier {
  std::string pattern;    ///< a regular expression (ECMAScript) for whole names of variables
  double multiplier = 1;  ///< at least 0
};
/// Multiplies the learning rate of variables by that of the first pattern that matches; others
/// keep theirs. Several such hooks multiply each other.
///
///   hooks::learning_rates({{"encoder/.*", 0.1}, {".*/bias", 2}})
///
/// With 0 a variable stays as it is while its slots go on (except those of FTRL): its momentum is
/// right when a later training gives it a rate again. freeze() spares the work. Error: no pattern,
/// one that is no regular expression, a multiplier that is negative or not finite; when training
/// begins, a pattern that matches no variable of any update.
std::shared_ptr<Hook> learning_rates(std::vector<RateMultiplier> rules);

}  // namespace belfry::hooks
