#pragma once
// Hooks that change what an update is, or whether it is made. Those that edit averaged gradients
// join the step when it is built, in the order of the list, and cost no call while it runs. The
// functions on gradients are in framework/optimizers/minimize.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/optimizers/optimizers.h"
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
/// their optimizer slots are not made. Moving statistics of batch norms go on moving: give these
/// layers .training = false. Error: no pattern, one that is no regular expression; when
/// training begins, a pattern that matches no variable of any update, or an update of which nothing
/// is left.
std::shared_ptr<Hook> freeze(std::vector<std::string> patterns);

/// A rule of learning_rates().
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

/// Cuts each tower's rows of every step into so many micro-batches, whose gradients are added
/// before the update: the update of the whole batch with the activations of a part of it. In a
/// model on several devices, micro-batches are under way on all devices at once, and their
/// activations are kept until their gradients are there. Where a tower has fewer rows, but some,
/// all have as many micro-batches as that one has rows. What looks at the whole batch sees a
/// micro-batch: batch norm, and losses that divide by the sum of their weights
/// (Reduction::weighted_mean). Error: fewer than 1 micro-batch.
std::shared_ptr<Hook> accumulate(int micro_batches);

/// Options of skip_non_finite().
struct SkipNonFiniteOptions {
  std::int64_t max_consecutive = 10;  ///< skipped steps in a row that are borne; at least 1
};

/// An update whose gradients, as they are where this hook stands in the list, are not all finite
/// changes nothing in that step: neither variables nor slots. All towers decide alike, as they look
/// at the same averaged gradients. It belongs before hooks that hide infinities (clip_by_value) and
/// after those that choose updates in before_step. What the forward pass changes, such as the
/// moving statistics of batch_norm, is held back where it is not finite itself. global_step counts
/// the step.
///
/// Each skipped step is logged as a warning with the number of those so far. A step counts as
/// skipped when the update was chosen but not applied (StepResult::applied), also where another
/// hook's condition was the cause. So with Precision::f16 the ordinary overflows count, by which
/// the loss scale is found: up to 15 in a row at the beginning, more than max_consecutive bears.
/// Precision::f16 leaves such steps out without this hook. Error: max_consecutive below 1; during
/// training, naming the update, one skipped step more in a row than max_consecutive.
std::shared_ptr<Hook> skip_non_finite(SkipNonFiniteOptions options = {});

/// Options of moving_average().
struct MovingAverageOptions {
  double decay = 0.999;  ///< in [0, 1); about the last 1 / (1 - decay) updates count
  bool warm_up = false;  ///< after n updates of the average, decay is at most (1 + n) / (10 + n)
  std::vector<std::string> patterns = {};  ///< regular expressions (ECMAScript) for whole names of
                                           ///< variables; empty: all
};

/// Keeps an exponential moving average of each variable that an update changes, as the update
/// leaves it, in `<variable>/moving_average` (belfry::add_moving_averages() tells all about it).
/// Frozen variables have none. Averages are saved in checkpoints; only those of updates that are
/// applied move. Error: the decay is outside [0, 1), a pattern is no regular expression; when
/// training begins, a pattern that matches no variable of any update, or a variable that two
/// updates change.
std::shared_ptr<Hook> moving_average(MovingAverageOptions options = {});

}  // namespace belfry::hooks
