#pragma once
// Where the time of a pipeline goes: a meter for each stage, read at any moment from any thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "belfry/data/iterator.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// A sum that any thread adds to and reads.
class Tally {
 public:
  void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

/// Nanoseconds since some moment.
inline std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The numbers of one stage. Those in front are counted for every stage; stages with threads of
/// their own add the others.
struct Meter {
  std::string name;
  const void* stage = nullptr;
  const Meter* consumer = nullptr;  ///< the stage that reads this one; null for the last
  int depth = 0;

  Tally elements, nanoseconds;  ///< nanoseconds: in next(), its sources' time included
  Tally bytes, weighed;         ///< bytes of so many of the elements

  std::atomic<bool> asynchronous = false;    ///< its sources' time is not part of its own
  std::atomic<std::int64_t> busy = 0;        ///< nanoseconds of work in its own threads
  std::atomic<std::int64_t> downstream = 0;  ///< nanoseconds that finished elements held them up
  Tally queued, looks;                       ///< elements ready, summed over so many looks
  std::atomic<int> workers = 1, buffer = 0;
};

/// The meters of one stream.
class Profile {
 public:
  /// The meter of a stage that `consumer` reads; the same one for each pass. `stage` is null for
  /// datasets made from elements, of which those with the same name share one.
  Meter& meter(const void* stage, const std::string& name, const Meter* consumer);

  std::vector<InputStage> stages() const;

 private:
  mutable Mutex mutex_;
  std::deque<Meter> meters_ BELFRY_GUARDED_BY(mutex_);  // a meter never moves
};

/// The bytes of the arrays in `features`.
std::int64_t bytes_of(const Features& features);

/// `iterator` with its elements counted and its time taken.
IteratorPtr metered(IteratorPtr iterator, Meter& meter, std::shared_ptr<Profile> profile);

}  // namespace belfry::data
