// A Wasserstein GAN with gradient penalty: five steps of the critic for each of the generator.

#include "common/digit_gan.h"

using namespace belfry;

int main(int argc, char** argv) {
  examples::Options defaults{.about = "A Wasserstein GAN with gradient penalty draws digits.",
                             .data = "MNIST's four files, gzipped or not",
                             .max_steps = 1000,
                             .batch_size = 64};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    return examples::train_digit_gan(o, {.gan = gan::wgan_gp({.filters = 32})});
  });
}
