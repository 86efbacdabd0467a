#pragma once
// The choices that RunConfig makes about devices that train together, and how they share rows.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/base/fields.h"

namespace belfry {

/// The rows that one batch of the input holds.
enum class BatchPolicy : std::uint8_t {
  /// The whole step's rows, split over all towers of all workers; those read the same batch, to the
  /// last bit, which they compare.
  global,
  per_worker,  ///< a worker's rows, split over its towers; every worker reads a part of the data
  per_tower,   ///< a tower's rows: a step takes one batch for each; workers read as above
};
constexpr auto names_of(BatchPolicy) { return name_list("global", "per_worker", "per_tower"); }

/// The towers on which variables live.
enum class VariablePlacement : std::uint8_t {
  mirrored,  ///< a copy on every tower; each applies the same update
  central,   ///< on the first tower, which applies the updates; the others read them there
};
constexpr auto names_of(VariablePlacement) { return name_list("mirrored", "central"); }

/// How a communicator sums. All do so in an order that does not depend on timing. GPUs reduce
/// as NCCL chooses, whatever is said here.
enum class CrossDevice : std::uint8_t {
  shared,         ///< each member sums its share of every bucket, in the order of members
  to_one_device,  ///< member 0 sums, in the order of members, and the others copy
  hierarchical,   ///< neighbours in pairs, then pairs of pairs; 16-bit sums are rounded each time
};
constexpr auto names_of(CrossDevice) {
  return name_list("shared", "to_one_device", "hierarchical");
}

/// A range of rows of a batch.
struct RowRange {
  std::int64_t first = 0;                            ///< from 0 on
  std::int64_t count = 0;                            ///< 0: none
  bool operator==(const RowRange&) const = default;  ///< the same rows
};

/// `rows` in `parts` ranges as even as can be, larger ones first: 15 in 2 is 8 and 7. Ranges may be
/// empty.
inline std::vector<RowRange> split_rows(std::int64_t rows, int parts) {
  std::vector<RowRange> out;
  std::int64_t first = 0;
  for (int i = 0; i < parts; ++i) {
    std::int64_t count = rows / parts + (i < rows % parts ? 1 : 0);
    out.push_back({first, count});
    first += count;
  }
  return out;
}

}  // namespace belfry
