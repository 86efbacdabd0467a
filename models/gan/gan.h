#pragma once
// Generative adversarial networks as Estimators.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "belfry/models/gan/losses.h"

namespace belfry::gan {

/// Which batches the sub-steps of a network take.
enum class Batches : std::uint8_t {
  fresh,  ///< each the next one
  same,   ///< that of the sub-step before; the first of a round takes the next one
};
constexpr auto names_of(Batches) { return name_list("fresh", "same"); }

/// How often a round trains each network. A step of training is a round: global_step counts rounds,
/// the variables `generator_step` and `discriminator_step` count what their names say. For a round
/// of your own: update 0 of SubStep::updates is the generator's, update 1 the discriminator's.
struct RoundOptions {
  int generator = 1,                           ///< times a round, at least 0
      discriminator = 1;                       ///< likewise; not both 0
  Batches generator_batches = Batches::fresh,  ///< of its sub-steps
      discriminator_batches = Batches::fresh;  ///< likewise
  bool discriminator_first = false;            ///< of sequential() alone
  BELFRY_FIELDS(generator, discriminator, generator_batches, discriminator_batches,
                discriminator_first)
};

/// First the generator's sub-steps, then the discriminator's, or the other way round; each sees
/// what the ones before have learnt. With fresh batches a round takes generator + discriminator of
/// them. Error: a number is below 0, or both are 0.
std::vector<SubStep> sequential(const RoundOptions& options = {});

/// Both networks in one sub-step, on one batch and with the variables as they were before it, as
/// often as the smaller number says; then the surplus of the other: joint({.generator = 3,
/// .discriminator = 5}) is 5 sub-steps on 5 batches. The common ones take fresh batches unless both
/// networks say `same`. Error: as sequential(); discriminator_first, since neither is.
std::vector<SubStep> joint(const RoundOptions& options = {});

/// Makes data like the real ones, [n, ...] for a batch of n rows, under the scope: from noise drawn
/// with random_normal(), from features of the batch, or both.
using Generator = std::function<Tensor(Scope, const Batch&, Mode)>;
/// Logits of data, real or generated; the batch has what both are conditioned on.
using Discriminator = std::function<Tensor(Scope, Tensor data, const Batch&, Mode)>;

/// Options of gan().
struct GanOptions {
  Generator generator = {};          ///< variables in generator/
  Discriminator discriminator = {};  ///< variables in discriminator/; called once for each data
  std::string real = "image";        ///< the feature with real data
  Loss loss = modified();            ///< of both networks
  /// By default as Radford et al. have it: see dcgan.h.
  ///@{
  Optimizer generator_optimizer = adam({.learning_rate = 2e-4, .beta1 = 0.5});
  Optimizer discriminator_optimizer = adam({.learning_rate = 2e-4, .beta1 = 0.5});
  ///@}
  std::vector<SubStep> round = sequential();  ///< by sequential(), joint(), or of your own
  /// Whether schedules of learning rates follow generator_step and discriminator_step, rather than
  /// the rounds. Rules such as Adam's always count their own network's steps.
  bool rates_by_own_steps = false;
  /// More metrics for evaluate(), beside generator_loss and discriminator_loss.
  std::function<NamedMetrics(const GanModel&, const Batch&)> metrics = {};
  /// EstimatorSpec::summaries of the training.
  std::function<std::vector<Summary>(const GanModel&, const Batch&)> summaries = {};
  BELFRY_FIELDS(generator_optimizer, discriminator_optimizer, round)
};

/// The model_fn of a GAN. Features: GanOptions::real, floating [n, ...], but for predict(), and
/// whatever the two functions read. Predictions: "generated"; predict() builds the generator alone,
/// and makes as many rows as its batches have, of any feature: data::range(64) | data::batch(64)
/// asks a generator that reads none for 64. Their noise is the same at every step.
///
/// Training reports the discriminator's loss as the loss, and both as the values generator_loss and
/// discriminator_loss; training stops when one is not finite. Each network's gradients are reduced
/// over towers by themselves, and its moving statistics change with its own steps.
///
/// Error: a function is missing; when the model is built, generated data are not like the real
/// ones.
ModelFn gan(GanOptions options);

/// Options of a GanEstimator.
struct GanEstimatorOptions {
  GanOptions gan = {};                       ///< the model
  std::string model_dir = {};                ///< see EstimatorOptions
  RunConfig run = {};                        ///< see EstimatorOptions
  std::optional<WarmStart> warm_start = {};  ///< see EstimatorOptions
};

/// An Estimator that trains gan(options.gan).
class GanEstimator : public Estimator {
 public:
  /// Error: as gan() and Estimator().
  explicit GanEstimator(GanEstimatorOptions options);
};

}  // namespace belfry::gan
