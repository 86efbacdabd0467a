#pragma once
// One pass over a dataset.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "belfry/data/element.h"
#include "belfry/data/position.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

class Scheduler;

/// Yields the elements of one pass. Thread rules: used by one thread at a time, not always the same
/// one (prefetch runs its source in a thread of its own).
class Iterator {
 public:
  virtual ~Iterator() = default;

  /// Puts the next element into `out` and returns true, or returns false at the end (and on every
  /// later call). What `out` held before may be overwritten, so that memory goes round; the new
  /// element is the caller's to change. Error: the element could not be produced; it counts as
  /// consumed, and the next call goes on after it.
  virtual bool next(Element& out) = 0;

  /// Saves or restores the position: what is needed to continue with the element that next() would
  /// yield now. Elements read ahead are not counted as consumed. Restoring is done on a fresh
  /// iterator, before its first next().
  virtual void position(Position& at) = 0;
};

using IteratorPtr = std::unique_ptr<Iterator>;

/// How an iterator that cannot jump restores its position: reads and drops `count` elements. What
/// fails was reported when it was first read. Error naming `what` ("shuffled data") if they end
/// before that.
void read_again(Iterator& fresh, std::int64_t count, std::string_view what);

/// An order in which to read a dataset with random access: `size` elements, the i-th of which is
/// the dataset's element at(i).
struct Order {
  std::int64_t size = 0;
  std::function<std::int64_t(std::int64_t)> at;
  /// Of the shuffles that made it, if any did: a saved position fits no other.
  std::optional<std::uint64_t> seed = {};
};

/// What a dataset is told when a pass over it begins.
struct Pass {
  std::uint64_t epoch = 0;  ///< which pass this is; repeat counts it
  int stage = 0;            ///< number of transforms before this one; Dataset::iterate sets it
  /// Only for a dataset with random access: the order to read in; null for 0, 1, 2, ...
  std::shared_ptr<const Order> order;
  /// Where parallel transforms run their work; never null.
  std::shared_ptr<Scheduler> scheduler;

  /// The random numbers of one transform: distinct for each place in the pipeline, the same for
  /// all passes. `name` is the transform's.
  PhiloxKey key(std::uint64_t seed, std::string_view name) const {
    return philox_key(philox_key(seed, name).value, static_cast<std::uint64_t>(stage));
  }
};

}  // namespace belfry::data
