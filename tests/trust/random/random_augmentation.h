#pragma once
// Augmentations put together at random.

#include "belfry/data/augment/augment.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

/// One augmentation, or several in a row, by chance or of which one is done; these hold others, up
/// to a depth of 2.
Augmentation random_augmentation(PhiloxStream& random, int depth = 0);

}  // namespace belfry::data
