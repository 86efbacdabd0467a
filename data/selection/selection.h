#pragma once
// Transforms that number, count or leave out elements, and settings for the pipeline before them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "belfry/data/dataset.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

/// Adds the feature `name`, i64 []: start + the element's place in the source, 0, 1, ... Keeps
/// random access, and then an element has the same number in any order: shuffled after it, it is
/// that of the unshuffled data. Several pipelines share the numbered elements, so that numbers do
/// not depend on how many there are (with ShardPolicy::file each counts from `start`). Error in
/// place of an element: it has a feature of that name.
Transform enumerate(std::string name = "index", std::int64_t start = 0);

/// The elements before the first for which `predicate` is false. An exception from it is delivered
/// as map's are, and the next element asked about.
Transform take_while(std::function<bool(const Features&)> predicate);

/// The elements that are unlike all before them in the pass: in `features`, or, if none are named,
/// in all. Alike are the same types with the same bytes (so NaN is like NaN and 0 unlike -0). What
/// was seen stays in memory. A restored position reads the source again from the start of the pass.
/// Error in place of an element: it has no such feature.
Transform unique(std::vector<std::string> features = {});

/// The number of an element's class, from 0.
using ClassOf = std::function<std::int64_t(const Features&)>;

/// Options of rejection_resample().
struct ResampleOptions {
  /// How frequent the classes are in the source, in any unit. Empty: as they were among its
  /// elements so far, so that the first ones are kept too often.
  std::vector<double> initial = {};
  std::uint64_t seed = 0;  ///< keys the draws
};

/// Leaves out elements at random, so that the classes become as frequent as `target` says, in any
/// unit. Of the class that is to become more frequent by the largest factor all are kept; an
/// element of another with the probability of its own factor over that one. Draws depend on the
/// seed, the place in the pipeline, and the element's epoch and index alone. Error in place of an
/// element: its class is below 0 or has no target; an exception from `class_of`. Error: weights
/// below 0, not finite or all 0; .initial of another number than `target`; a class that is wanted
/// and of which .initial says that there is none.
Transform rejection_resample(ClassOf class_of, std::vector<double> target,
                             ResampleOptions options = {});

/// The elements j of the source with j % count == index. Keeps random access; without it the others
/// are skipped, which sources do cheaply and maps not at all. Put it before shuffle and batch.
/// Pipelines that an estimator opens share their data by themselves (ShardPolicy).
/// Error: count below 1, index below 0 or not below count.
Transform shard(std::int64_t count, std::int64_t index);

/// Says that the source has `count` elements, or data::infinite, where it cannot know it itself
/// (after filter). Changes no element. Error at once if the source knows better; otherwise the
/// element after the last, or the end before it, is an Error with the numbers expected and got, and
/// the data end there. Keeps random access. With several pipelines each has a part of unknown size,
/// so that only more than `count` elements in one are found.
Transform assert_cardinality(std::int64_t count);

/// Options of with_options().
struct PipelineOptions {
  int threads = 0;  ///< for parallel transforms, as threads(n); 0: as without this
  /// The memory that autotuned buffers may take beyond their first two elements; nothing: as
  /// without this, and 1 GiB for a whole stream.
  std::optional<Bytes> memory = {};
  /// How several pipelines share the sources; nothing: as without this.
  std::optional<ShardPolicy> shard = {};
};

/// Settings for everything that stands before it. The one closest to a source counts. Changes no
/// element. Keeps random access. Error: threads or memory below 0.
Transform with_options(PipelineOptions options);

}  // namespace belfry::data
