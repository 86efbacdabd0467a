#pragma once
// Elements that wait in buckets for their batches: what bucket_by_length and group_by_window share.
// Internal to data/.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/grouping/padding.h"
#include "belfry/data/transforms/read_ahead.h"

namespace belfry::data {

/// Elements of one key that wait for their batch.
struct Bucket {
  std::int64_t size;  // of a batch
  PaddedStack stack;
  std::vector<Element> rows = {};  // the first `numbers.size()` wait, the rest is memory for reuse
  std::vector<std::int64_t> numbers = {};   // of those, in the order of the source
  std::vector<SourcePosition> before = {};  // where the source stood before each of `rows`
};

struct BucketRule {
  std::string name;                                  ///< of the transform
  std::function<std::int64_t(const Features&)> key;  ///< of an element's bucket
  std::function<Bucket(std::int64_t key)> make;      ///< an empty one
  bool drop_remainder = false;                       ///< leaves out buckets not full at the end
  std::function<void(Position&)> constants;          ///< what a position means only together with
};

/// Puts elements into buckets, and yields each that is full as a padded batch; at the end the
/// others, in the order of their keys.
Transform bucketed(BucketRule rule);

}  // namespace belfry::data
