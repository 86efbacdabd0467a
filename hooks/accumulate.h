#pragma once

#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Cuts each tower's rows of every step into `parts` micro-batches, whose gradients are added
/// before the update: the update of the whole batch with the activations of a part of it. In a
/// model on several device slots, parts are under way on all slots at once, and their activations
/// are kept until their gradients are there. Where a tower has fewer rows, but some, all have as
/// many parts as that one has rows. What looks at the whole batch sees a part: batch norm, and
/// losses that divide by the sum of their weights (Reduction::weighted_mean). Error: fewer than 1
/// part.
std::shared_ptr<Hook> accumulate(int parts);

}  // namespace belfry::hooks
