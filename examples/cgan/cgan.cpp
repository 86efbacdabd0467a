// A conditional DCGAN draws the digits that it is asked for.
// As gan::conditional_gan(), but with GanOptions' label smoothing, with which it was measured.

#include "common/digit_gan.h"

using namespace belfry;

int main(int argc, char** argv) {
  examples::Options defaults{.about = "A conditional DCGAN draws the digits that it is asked for.",
                             .data = "MNIST's four files, gzipped or not",
                             .max_steps = 3000,
                             .batch_size = 64};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    gan::DcganOptions networks{.filters = 32, .classes = 10};
    return examples::train_digit_gan(o,
                                     {.gan = {.generator = gan::dcgan_generator(networks),
                                              .discriminator = gan::dcgan_discriminator(networks)},
                                      .conditional = true});
  });
}
