#pragma once
// The function that zip and enumerate share. Internal to data/.

#include <string>
#include <utility>
#include <vector>

#include "belfry/data/dataset.h"

namespace belfry::data {

using PrefixedDatasets = std::vector<std::pair<std::string, Dataset>>;

/// zip() under another name, which errors begin with.
Dataset zip_as(std::string name, PrefixedDatasets inputs);

}  // namespace belfry::data
