#include "belfry/models/gan/gan.h"

#include <algorithm>

#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

const UpdateSet generator_update = {0}, discriminator_update = {1};

void append(std::vector<SubStep>& round, int times, UpdateSet updates, Batches batches) {
  for (int i = 0; i < times; ++i)
    round.push_back(
        {.updates = updates, .fresh_batch = batches == Batches::fresh || round.empty()});
}

void check(const RoundOptions& o) {
  require(o.generator >= 0 && o.discriminator >= 0 && o.generator + o.discriminator > 0,
          "gan: a round of ", o.generator, " steps of the generator and ", o.discriminator,
          " of the discriminator; neither may be below 0, nor both 0");
}

// The networks of a model, of which the discriminator may be called again.
struct Networks {
  Tensor generated;
  Network discriminator;
};

Networks build(const GanOptions& o, const Scope& s, const Batch& batch, Mode mode) {
  Tensor generated = o.generator(s / "generator", batch, mode);
  auto judge = [o, &batch, mode](Scope scope, Tensor data) {
    return o.discriminator(std::move(scope), data, batch, mode);
  };
  return {generated, Network(s / "discriminator", judge)};
}

GanModel connect(const GanOptions& o, const Scope& s, const Batch& batch, Mode mode,
                 Networks& networks) {
  Tensor real = batch[o.real];
  // In mixed precision it is made in 16 bits.
  if (s.graph().mixed_precision()) networks.generated = cast(networks.generated, real.dtype());
  require(real.type() == networks.generated.type(), "gan: the feature `", o.real, "` is ",
          real.type(), " but the generator makes ", networks.generated.type());
  Network& discriminator = networks.discriminator;
  GanModel model{
      .real = real, .generated = networks.generated, .scope = s, .training = mode == Mode::train};
  model.real_logits = discriminator(real);
  model.generated_logits = discriminator(networks.generated);
  model.discriminator = [&discriminator](Tensor data) { return discriminator(data); };
  return model;
}

Update update_of(const GanOptions& o, std::string name, Tensor loss, const Optimizer& optimizer,
                 std::vector<Variable> variables) {
  require(!variables.empty(), "gan: the ", name, " has no variables to train");
  Update update = minimize(loss, optimizer, std::move(variables));
  update.counter = name + "_step";
  update.schedule_by_counter = o.rates_by_own_steps;
  update.name = std::move(name);
  return update;
}

}  // namespace

std::vector<SubStep> sequential(const RoundOptions& o) {
  check(o);
  std::vector<SubStep> round;
  auto generator = [&] { append(round, o.generator, generator_update, o.generator_batches); };
  if (!o.discriminator_first) generator();
  append(round, o.discriminator, discriminator_update, o.discriminator_batches);
  if (o.discriminator_first) generator();
  return round;
}

std::vector<SubStep> joint(const RoundOptions& o) {
  check(o);
  require(!o.discriminator_first,
          "gan: joint() trains both networks in one sub-step; discriminator_first is for "
          "sequential()");
  int common = std::min(o.generator, o.discriminator);
  bool fresh = o.generator_batches == Batches::fresh || o.discriminator_batches == Batches::fresh;
  std::vector<SubStep> round;
  append(round, common, generator_update | discriminator_update,
         fresh ? Batches::fresh : Batches::same);
  append(round, o.generator - common, generator_update, o.generator_batches);
  append(round, o.discriminator - common, discriminator_update, o.discriminator_batches);
  return round;
}

ModelFn gan(GanOptions options) {
  require(options.generator && options.discriminator,
          "gan: the generator and the discriminator must be set");
  require_set("gan", options.loss);
  return [o = std::move(options)](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Networks networks = build(o, s, batch, mode);
    if (mode == Mode::predict) return {.predictions = {{"generated", networks.generated}}};
    GanModel model = connect(o, s, batch, mode, networks);
    Tensor generator_loss = o.loss.generator(model);
    Tensor discriminator_loss = o.loss.discriminator(model);
    EstimatorSpec spec{.loss = discriminator_loss};
    if (mode == Mode::evaluate) {
      spec.metrics = {{"generator_loss", mean_over_rows(generator_loss, batch.rows())},
                      {"discriminator_loss", mean_over_rows(discriminator_loss, batch.rows())}};
      if (o.metrics)
        for (auto& metric : o.metrics(model, batch)) spec.metrics.push_back(std::move(metric));
      return spec;
    }
    spec.train = {update_of(o, "generator", generator_loss, o.generator_optimizer,
                            trainable_variables(s.graph(), (s / "generator").path())),
                  update_of(o, "discriminator", discriminator_loss, o.discriminator_optimizer,
                            networks.discriminator.variables())};
    spec.values = {{"generator_loss", generator_loss}, {"discriminator_loss", discriminator_loss}};
    if (o.summaries) spec.summaries = o.summaries(model, batch);
    spec.round = o.round;
    return spec;
  };
}

GanEstimator::GanEstimator(GanEstimatorOptions options)
    : Estimator({.model_fn = gan::gan(std::move(options.gan)),
                 .model_dir = std::move(options.model_dir),
                 .run = std::move(options.run),
                 .warm_start = std::move(options.warm_start)}) {}

}  // namespace belfry::gan
