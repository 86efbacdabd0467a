#pragma once
// The transform that interleave and flat_map share. Internal to data/.

#include <string>

#include "belfry/data/combine/combine.h"

namespace belfry::data {

/// interleave() under another name, which errors begin with.
Transform interleave_as(std::string name, MakeDataset function, InterleaveOptions options);

}  // namespace belfry::data
