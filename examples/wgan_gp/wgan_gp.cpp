// A Wasserstein GAN with gradient penalty: five steps of the critic for each of the generator.

#include "common/digit_gan.h"

using namespace belfry;

int main(int argc, char** argv) {
  return examples::run(argc, argv, {.max_steps = 1000, .batch_size = 64}, [](const auto& o) {
    gan::DcganOptions networks{.filters = 32, .layer_norm = true};
    Optimizer optimizer = adam({.learning_rate = 1e-4, .beta1 = 0, .beta2 = 0.9});
    return examples::train_digit_gan(
        o, {.gan = {.generator = gan::dcgan_generator(networks),
                    .discriminator = gan::dcgan_discriminator(networks),
                    .loss = gan::with_gradient_penalty(gan::wasserstein()),
                    .generator_optimizer = optimizer,
                    .discriminator_optimizer = optimizer,
                    .round = gan::sequential({.generator = 1, .discriminator = 5})}});
  });
}
