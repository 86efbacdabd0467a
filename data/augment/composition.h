#pragma once
// Augmentations made of augmentations.

#include <vector>

#include "belfry/data/augment/augmentation.h"

namespace belfry::data {

/// All steps, one after the other. Without steps it changes nothing.
///
///   {"name": "compose", "of": [{"name": "flip_horizontal"}, {"name": "normalize"}]}
Augmentation compose(std::vector<Augmentation> steps);

/// One of the choices, all equally likely, or as likely as `weights` say (they need not sum to 1).
///
///   {"name": "one_of", "of": [{"name": "rotate"}, {"name": "gaussian_blur"}], "weights": [2, 1]}
///
/// Error: no choices; weights of another number, below 0 or all 0.
Augmentation one_of(std::vector<Augmentation> choices, std::vector<double> weights = {});

/// `step` with this probability, else nothing. Error: probability outside [0, 1].
///
///   {"name": "sometimes", "probability": 0.2, "of": [{"name": "grayscale"}]}
Augmentation sometimes(double probability, Augmentation step);

}  // namespace belfry::data
