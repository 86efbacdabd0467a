#pragma once

#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Cuts each tower's rows of every step into `parts` micro-batches, whose gradients are added
/// before the update: the update of the whole batch with the activations of a part of it. In a
/// model on several device slots, parts are under way on all slots at once, and their activations
/// are kept until their gradients are there. A batch of fewer rows has as many parts as rows.
/// Layers that look at the whole batch (batch norm) see a part. Error: fewer than 1 part.
std::shared_ptr<Hook> accumulate(int parts);

}  // namespace belfry::hooks
