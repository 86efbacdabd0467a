// A DCGAN learns to draw digits, and a classifier that was trained beforehand says how well.
// As gan::dcgan(), but with GanOptions' label smoothing, with which it was measured.

#include "common/digit_gan.h"

using namespace belfry;

int main(int argc, char** argv) {
  return examples::run(argc, argv, {.max_steps = 3000, .batch_size = 64}, [](const auto& o) {
    gan::DcganOptions networks{.filters = 32};
    return examples::train_digit_gan(
        o, {.gan = {.generator = gan::dcgan_generator(networks),
                    .discriminator = gan::dcgan_discriminator(networks)}});
  });
}
