#pragma once
// Which rows of a step each tower of this process takes. Internal to train/.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

/// The shard of one tower in a step.
struct TowerShard {
  Features batch;  ///< its rows; of a tower without rows that must take part, any one row
  RowRange rows;   ///< of all towers' rows
  double weight = 1;
};

/// The towers of this process among those of all workers.
struct TowerRange {
  int first = 0;  ///< number of this process's first tower
  int all = 1;    ///< towers of all workers
};

/// The rows of a step, over all workers.
struct StepRows {
  std::int64_t before = 0;  ///< those of workers before this one
  std::int64_t all = 0;
  std::int64_t most_of_tower = 0;   ///< the largest number that one tower takes
  std::int64_t least_of_tower = 0;  ///< the smallest of those that have rows
  bool even = false;                ///< all towers have as many
  /// A hash of the features but for the number of rows; 0: towers have other ones, or one has none.
  std::uint64_t layout = 0;

  /// A tower's, into the three before the layout.
  void add_tower(std::int64_t count);
};

/// Who takes which rows of a step.
struct StepShards {
  std::vector<TowerShard> of;  ///< by tower
  int active = 0;              ///< towers; the others run nothing
  StepRows rows = {};
};

/// Cuts `batch`, which is that of all towers at `range`. Returns how many of the shards take part:
/// all of them if `everyone`, else those with rows, but at least one.
int split_batch(const Features& batch, const TowerRange& range, bool everyone,
                std::span<TowerShard> shards, StepRows& rows);
/// A batch for each shard; missing ones are without rows.
int take_batches(std::span<const Features> batches, bool everyone, std::span<TowerShard> shards,
                 StepRows& rows);
/// For workers that read batches of their own: moves the shards among the rows of all.
void offset_by_workers(const StepRows& rows, std::span<TowerShard> shards);

}  // namespace belfry
