#pragma once
// Names that somebody may have meant.

#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// At most `count` of `names`, the nearest to `name` first. The distance is the number of
/// characters to insert, delete or replace (Levenshtein 1966); a name whose distance is above half
/// of the longer name's length is left out.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t count = 3);

}  // namespace belfry
