#pragma once
// Pipelines whose positions are saved and restored.

#include <vector>

#include "belfry/data/dataset.h"

namespace belfry {

/// One at least for each kind of iterator. All come to an end, within a few hundred elements.
std::vector<Dataset> pipelines();

}  // namespace belfry
