#include "belfry/models/gan/cyclegan.h"

#include <cmath>

#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

// The translation of one kind of images into the other, with the discriminator of its results.
struct Direction {
  Scope scope;
  Network generator, discriminator;
};

Tensor images(const Batch& batch, const std::string& feature, std::int64_t channels) {
  Tensor x = batch[feature];
  require(x.rank() == 4 && x.size(3) == channels, "cyclegan: the feature `", feature, "` is ",
          x.type(), "; expected images [n, h, w, ", channels, "]");
  return x;
}

Direction direction(const CycleganOptions& o, const Scope& s, const Batch& batch, Mode mode,
                    std::int64_t channels) {
  Translator translate = resnet_translator(
      {.channels = channels, .filters = o.filters, .blocks = o.blocks, .reflect = o.reflect});
  auto judge = [network = patch_discriminator({.filters = o.filters, .layers = o.patch_layers}),
                batch,
                mode](Scope scope, Tensor x) { return network(std::move(scope), x, batch, mode); };
  return {s, Network(s / "generator", translate), Network(s / "discriminator", judge)};
}

GanModel judged(Direction& d, Tensor real, Tensor generated, Mode mode) {
  generated = cast(generated, real.dtype());  // in mixed precision it is made in 16 bits
  require(real.type() == generated.type(), "cyclegan: images are made as ", generated.type(),
          " and real ones are ", real.type(), "; both features must have one size");
  GanModel model{
      .real = real, .generated = generated, .scope = d.scope, .training = mode == Mode::train};
  model.real_logits = d.discriminator(real);
  model.generated_logits = d.discriminator(generated);
  model.discriminator = [&d](Tensor data) { return d.discriminator(data); };
  return model;
}

struct Losses {
  Tensor generators, discriminators, cycle;
};

Losses losses(const CycleganOptions& o, Tensor a, Tensor b, Direction& to_b, Direction& to_a,
              Mode mode) {
  Tensor new_b = to_b.generator(a), new_a = to_a.generator(b);
  GanModel of_b = judged(to_b, b, new_b, mode), of_a = judged(to_a, a, new_a, mode);
  Tensor cycle = cycle_consistency(a, to_a.generator(new_b), b, to_b.generator(new_a));
  Tensor total = (o.loss.generator(of_b) + o.loss.generator(of_a)) * o.adversarial_weight
                 + cycle * o.cycle_weight;
  if (o.identity_weight > 0) {
    require(o.a_channels == o.b_channels, "cyclegan: an identity loss needs as many channels in `",
            o.a, "` as in `", o.b, "`, not ", o.a_channels, " and ", o.b_channels);
    Tensor identity = cycle_consistency(a, to_a.generator(a), b, to_b.generator(b));
    total = total + identity * o.identity_weight;
  }
  Loss loss = o.use_pool ? with_tensor_pool(o.loss, o.pool) : o.loss;
  return {total, loss.discriminator(of_b) + loss.discriminator(of_a), cycle};
}

Update update(std::string name, Tensor loss, const Optimizer& optimizer, const Network& first,
              const Network& second) {
  std::vector<Variable> variables = first.variables();
  for (const Variable& v : second.variables()) variables.push_back(v);
  Update out = minimize(loss, optimizer, std::move(variables));
  out.name = std::move(name);
  return out;
}

EstimatorSpec predictions(const CycleganOptions& o, const Batch& batch, Direction& to_b,
                          Direction& to_a) {
  EstimatorSpec spec;
  if (batch.contains(o.a))
    spec.predictions.emplace_back("a_to_b", to_b.generator(images(batch, o.a, o.a_channels)));
  if (batch.contains(o.b))
    spec.predictions.emplace_back("b_to_a", to_a.generator(images(batch, o.b, o.b_channels)));
  require(!spec.predictions.empty(), "cyclegan: to predict, a batch must have the feature `", o.a,
          "` or `", o.b, "`; it has ", join(batch.names(), ", "));
  return spec;
}

void check(const CycleganOptions& o) {
  require(o.a_channels >= 1 && o.b_channels >= 1, "cyclegan: channels must be at least 1, got ",
          o.a_channels, " and ", o.b_channels);
  require_set("cyclegan", o.loss);
  for (double weight : {o.adversarial_weight, o.cycle_weight, o.identity_weight})
    require(weight >= 0 && std::isfinite(weight), "cyclegan: weights must be at least 0, got ",
            weight);
  resnet_translator({.filters = o.filters, .blocks = o.blocks});
  patch_discriminator({.filters = o.filters, .layers = o.patch_layers});
  with_tensor_pool(o.loss, o.pool);
}

}  // namespace

ModelFn cyclegan(CycleganOptions options) {
  check(options);
  return [o = std::move(options)](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Direction to_b = direction(o, s / "a_to_b", batch, mode, o.b_channels);
    Direction to_a = direction(o, s / "b_to_a", batch, mode, o.a_channels);
    if (mode == Mode::predict) return predictions(o, batch, to_b, to_a);
    Tensor a = images(batch, o.a, o.a_channels), b = images(batch, o.b, o.b_channels);
    Losses found = losses(o, a, b, to_b, to_a, mode);
    NamedTensors values{{"generator_loss", found.generators},
                        {"discriminator_loss", found.discriminators},
                        {"cycle_loss", found.cycle}};
    if (mode == Mode::evaluate) {
      EstimatorSpec spec{.loss = found.generators};
      for (const auto& [name, value] : values)
        spec.metrics.emplace_back(name, mean_over_rows(value, batch.rows()));
      return spec;
    }
    return {.loss = found.generators,
            .train = {update("generators", found.generators, o.generator_optimizer, to_b.generator,
                             to_a.generator),
                      update("discriminators", found.discriminators, o.discriminator_optimizer,
                             to_b.discriminator, to_a.discriminator)},
            .values = values};
  };
}

}  // namespace belfry::gan
