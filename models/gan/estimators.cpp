#include "belfry/models/gan/estimators.h"

#include "belfry/framework/optimizers/optimizers.h"

namespace belfry::gan {
namespace {

GanOptions of_networks(const DcganOptions& networks) {
  return {.generator = dcgan_generator(networks), .discriminator = dcgan_discriminator(networks)};
}

std::vector<SubStep> critic_first(int steps) {
  return sequential({.discriminator = steps, .discriminator_first = true});
}

}  // namespace

GanOptions dcgan(const DcganOptions& networks) {
  GanOptions o = of_networks(networks);
  o.loss = modified({.label_smoothing = 0});
  return o;
}

GanOptions conditional_gan(const DcganOptions& networks) {
  require(networks.classes >= 1, "conditional_gan: set DcganOptions::classes");
  return dcgan(networks);
}

GanOptions wgan(const DcganOptions& networks) {
  GanOptions o = of_networks(networks);
  o.loss = wasserstein();
  o.generator_optimizer = rmsprop({.learning_rate = 5e-5});
  o.discriminator_optimizer = clip_weights(o.generator_optimizer, {.limit = 0.01});
  o.round = critic_first(5);
  return o;
}

GanOptions wgan_gp(DcganOptions networks) {
  networks.layer_norm = networks.sync_batch_norm = true;
  GanOptions o = of_networks(networks);
  o.loss = with_gradient_penalty(wasserstein());
  o.generator_optimizer = o.discriminator_optimizer =
      adam({.learning_rate = 1e-4, .beta1 = 0, .beta2 = 0.9});
  o.round = critic_first(5);
  return o;
}

}  // namespace belfry::gan
