#pragma once
// Augmentations put together at random.

#include "belfry/data/augment/augment.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

/// One augmentation; or two in a row, one of two, or one that is done by chance. These may hold
/// others, to a depth of 2.
Augmentation random_augmentation(PhiloxStream& random, int depth = 0);

}  // namespace belfry::data
