#include <limits>

#include "belfry/data/combine/interleave.h"

namespace belfry::data {

Transform flat_map(MakeDataset function) {
  // A block without end, so that skip() can pass over many elements at once.
  return interleave_as(
      "flat_map", std::move(function),
      {.cycle_length = 1, .block_length = std::numeric_limits<std::int64_t>::max()});
}

}  // namespace belfry::data
