#pragma once
// One pass over a dataset.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <unordered_map>

#include "belfry/data/element.h"
#include "belfry/data/position.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

class Scheduler;
class Profile;
struct Meter;
/// By stage, those that share a name with others.
using StageNames = std::unordered_map<const void*, StageName>;

/// Yields the elements of one pass. Thread rules: used by one thread at a time, not always the same
/// one (prefetch runs its source in a thread of its own).
class Iterator {
 public:
  virtual ~Iterator() = default;

  /// Puts the next element into `out` and returns true, or returns false at the end (and on every
  /// later call). What `out` held before may be overwritten, so that memory goes round; the new
  /// element is the caller's to change. Error: the element could not be produced; it counts as
  /// consumed, and the next call goes on after it; index and epoch of `out` name it if they are
  /// known. OutOfMemory or std::bad_alloc: memory was short somewhere, so that nobody knows how far
  /// the iterators behind this one have come. The pass is over: then nothing but the destructor is
  /// called.
  virtual bool next(Element& out) = 0;

  /// Leaves out up to `count` elements, as if next() had yielded (or failed at) them, and returns
  /// how many there were: fewer only at the end. Iterators that can do so produce nothing; by
  /// default elements are read and dropped. A lack of memory ends the pass, as in next().
  virtual std::int64_t skip(std::int64_t count);

  /// Saves or restores the position: what is needed to continue with the element that next() would
  /// yield now. Elements read ahead are not counted as consumed. Restoring is done on a fresh
  /// iterator, before its first next().
  virtual void position(Position& at) = 0;
};

/// Owns an iterator.
using IteratorPtr = std::unique_ptr<Iterator>;

/// Reads an element that nobody asks for, by read(), and returns what that does; true if it throws,
/// for then there was an element. A lack of memory alone leaves as it is.
template <class Read>
bool unasked(Read&& read) {
  try {
    return read();
  } catch (...) {
    if (is_shortage()) throw;
    return true;
  }
}

/// How an iterator that cannot jump restores its position: reads and drops `count` elements. What
/// fails was reported when it was first read. Error naming `what` ("shuffled data") if they end
/// before that.
void read_again(Iterator& fresh, std::int64_t count, std::string_view what);

/// An order in which to read a dataset with random access: `size` elements, the i-th of which is
/// the dataset's element at(i).
struct Order {
  std::int64_t size = 0;                         ///< elements to read
  std::function<std::int64_t(std::int64_t)> at;  ///< the number in the dataset, by place
  /// The seed of the shuffles that made it, if any did: a saved position fits no other.
  std::optional<std::uint64_t> seed = {};
};

/// How several pipelines share the data.
enum class ShardPolicy : std::uint8_t {
  automatic,  ///< files, where each pipeline gets at least one; otherwise data
  file,       ///< pipeline i of n reads the files j with j % n == i
  data,       ///< pipeline i of n reads the source's elements j with j % n == i; where they are too
              ///< few, of what flat_map(), interleave() or unbatch() make of them
  off,        ///< every pipeline reads everything
};

/// Which part of the data a pass reads.
struct Shard {
  /// How many pipelines share the data, and which of them this is, from 0.
  ///@{
  int count = 1, index = 0;
  ///@}
  ShardPolicy policy = ShardPolicy::automatic;  ///< how they share
};

/// The description of a pass that a dataset gets when the pass begins.
struct Pass {
  std::uint64_t epoch = 0;   ///< which pass this is; repeat counts it
  int stage = 0;             ///< number of transforms before this one; Dataset::iterate sets it
  std::uint64_t branch = 0;  ///< tells apart passes that part somewhere: inputs of zip, elements
                             ///< of flat_map
  /// Only for a dataset with random access: the order to read in; null for 0, 1, 2, ...
  std::shared_ptr<const Order> order;
  /// Where parallel transforms run their work; never null.
  std::shared_ptr<Scheduler> scheduler;
  Shard shard;  ///< the part of the data to read
  /// Stop is requested when the stream, or the part of it that reads this one, ends before its
  /// data do. Sources then end early, and so does whoever waits for something outside the pipeline;
  /// whoever concludes something from the end of its source looks here first.
  std::stop_token stop;
  AllocateHost allocate_host;        ///< see InputContext; empty: plain memory
  std::shared_ptr<Profile> profile;  ///< null: nothing is measured
  Meter* meter = nullptr;            ///< of this stage; Dataset::iterate sets it
  StageName name;                    ///< of this stage; Dataset::iterate sets it
  /// The names of all stages; null: Dataset::iterate finds them.
  std::shared_ptr<const StageNames> names;
  bool made_from_element = false;  ///< see inner()

  /// The pass over input `i` of a dataset with several.
  Pass input(std::uint64_t i) const;
  /// The pass over a dataset that was made from element `element` of this stage's input.
  Pass inner(std::uint64_t element) const;

  /// The random numbers of one transform: distinct for each place in the pipeline, the same for
  /// all epochs. `name` is the transform's.
  PhiloxKey key(std::uint64_t seed, std::string_view name) const;
};

}  // namespace belfry::data
