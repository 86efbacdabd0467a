#pragma once
// Common parts of the GANs of digits: data, a classifier that judges their images, pictures.

#include <belfry/models.h>

#include "common/program.h"

namespace belfry::examples {

struct DigitGan {
  gan::GanOptions gan = {};  ///< for "image" f32 [n, 32, 32, 1] in -1..1, and "label" i64 [n]
  bool conditional = false;  ///< whether it is told the label
};

/// Trains a GAN on MNIST, or on drawn digits, framed to 32 x 32 pixels. First it trains a LeNet in
/// <model_dir>/classifier, unless that is there already. After every tenth of max_steps it logs how
/// good the GAN is and writes 100 digits of its own, with `conditional` a column for each label, to
/// <model_dir>/digits-<step>.png, beside 100 real ones in digits-real.png. TensorBoard shows some
/// of the running step's as often.
///
/// Results: distances of 10,000 generated digits from the test set (at most as many as training has
/// seen), by the LeNet's 128 features, and in `real_frechet_distance` that of as many real ones
/// from the training set, below which nothing can be expected; losses and steps. With
/// `conditional`, also the share of digits in which the LeNet sees the label that was asked for.
Results train_digit_gan(const Options& options, DigitGan digits);

}  // namespace belfry::examples
