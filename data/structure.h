#pragma once
// Structures of features within features.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// Features are flat: what lies within another structure has a name with a slash, as with zip().
/// Puts "<name>/" before the names of each part; nothing before those of a part without name. Parts
/// may be nested themselves. Shares the arrays.
///
///   nest({{"pair", {{"left", l}, {"right", r}}}, {"", {{"label", y}}}})
///   // "pair/left", "pair/right", "label"
///
/// Error: a name that results twice.
Features nest(const std::vector<std::pair<std::string, Features>>& parts);

/// The part of that name, whose features have the names that they had before nest(): part(features,
/// "pair") has "left" and "right". Shares the arrays. Error listing the names: no such part.
Features part(const Features& features, std::string_view name);

}  // namespace belfry::data
