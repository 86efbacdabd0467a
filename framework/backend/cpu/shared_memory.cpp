#include "belfry/framework/backend/cpu/shared_memory.h"

#include <algorithm>
#include <chrono>

#include "belfry/framework/backend/segments.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// A reduction under way. Members meet in it by the number of their start().
struct Round {
  explicit Round(std::size_t members) : buckets(members) {}
  std::vector<const Bucket*> buckets;  // by member; null: has not started
  int arrived = 0;
  int waiting = 0;     // members at the present meeting point
  int generation = 0;  // meeting points passed
  int left = 0;
};

class SharedMemory final : public Communicator {
 public:
  SharedMemory(std::vector<std::string> names, const CommunicatorOptions& options)
      : names_(std::move(names)),
        options_(options),
        timeout_(std::min(options.timeout_seconds, 1e9)),  // more would be too many nanoseconds
        prepared_(names_.size()),
        started_(names_.size()),
        rounds_(4, Round(names_.size())) {}

  int size() const override { return names_.size(); }
  std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) override;
  void abort(const std::string& reason) override {
    MutexLock lock(mutex_);
    if (failure_.empty()) failure_ = reason;
    changed_.notify_all();
  }

  // Rounds for as many reductions under way as a member has prepared, twice: members may be a step
  // apart. Between steps, when none is under way.
  void make_rounds_for(int member) {
    MutexLock lock(mutex_);
    std::size_t needed = 2 * ++prepared_[index(member)];
    if (needed > rounds_.size()) rounds_.resize(2 * needed, Round(names_.size()));
  }

  void forget_one_of(int member) {
    MutexLock lock(mutex_);
    --prepared_[index(member)];
  }

  std::uint64_t start(int member, const Bucket& bucket) {
    MutexLock lock(mutex_);
    std::uint64_t number = started_[index(member)]++;
    Round& round = round_of(number);
    // Free unless this member is a whole step ahead of the slowest one.
    wait(bucket, round, [&] { return !round.buckets[index(member)] && round.left == 0; });
    round.buckets[index(member)] = &bucket;
    if (++round.arrived == size()) changed_.notify_all();
    return number;
  }

  void finish(int member, const Bucket& bucket, std::uint64_t number) {
    MutexLock lock(mutex_);
    Round& round = round_of(number);
    wait(bucket, round, [&] { return round.arrived == size(); });
    compare(member, bucket, round);
    lock.unlock();
    reduce(member, bucket, round);
    lock.lock();
    if (++round.left < size()) return;
    std::fill(round.buckets.begin(), round.buckets.end(), nullptr);
    round.arrived = round.left = 0;
    changed_.notify_all();
  }

 private:
  static std::size_t index(int member) { return member; }
  Round& round_of(std::uint64_t number) BELFRY_REQUIRES(mutex_) {
    return rounds_[number % rounds_.size()];
  }

  void compare(int member, const Bucket& bucket, const Round& round) BELFRY_REQUIRES(mutex_) {
    for (std::size_t m = 0; m < names_.size(); ++m) {
      const Bucket& other = *round.buckets[m];
      if (fits(bucket, other)) continue;
      fail(names_[index(member)], " reduces ", bucket.name, " (", elements_of(bucket), " x ",
           bucket.dtype, ") while ", names_[m], " reduces ", other.name, " (", elements_of(other),
           " x ", other.dtype, "); a model_fn must build the same model for every tower");
    }
  }

  void reduce(int member, const Bucket& bucket, Round& round) {
    const auto& all = round.buckets;
    std::int64_t count = elements_of(bucket);
    int n = size();
    switch (options_.kind) {
      case CrossDevice::shared:
        reduce_all(all, count * member / n, count * (member + 1) / n);
        return meet(bucket, round);
      case CrossDevice::to_one_device:
        if (member == 0) belfry::reduce(all, std::span(all).first(1), 0, count);
        meet(bucket, round);
        if (member != 0) copy_into(bucket, *all[0]);
        return meet(bucket, round);
      case CrossDevice::hierarchical: {
        int top = 1;
        for (; top < n; top *= 2) {
          if (member % (2 * top) == 0 && member + top < n)
            reduce_into(bucket, *all[index(member + top)]);
          meet(bucket, round);
        }
        for (int step = top / 2; step >= 1; step /= 2) {
          if (member % (2 * step) == step) copy_into(bucket, *all[index(member - step)]);
          meet(bucket, round);
        }
      }
    }
  }

  // Goes on when all members of the round are here.
  void meet(const Bucket& bucket, Round& round) {
    MutexLock lock(mutex_);
    int generation = round.generation;
    if (++round.waiting == size()) {
      round.waiting = 0;
      ++round.generation;
      changed_.notify_all();
      return;
    }
    wait(bucket, round, [&] { return round.generation != generation; });
  }

  template <class Done>
  void wait(const Bucket& bucket, const Round& round, Done done) BELFRY_REQUIRES(mutex_) {
    Clock::time_point end = Clock::now() + std::chrono::ceil<Clock::duration>(timeout_);
    for (bool in_time = true; in_time && !done() && failure_.empty();)
      in_time = changed_.wait_until(mutex_, end);
    if (done()) return;
    if (failure_.empty()) failure_ = late(bucket, round);
    changed_.notify_all();
    fail(failure_);
  }

  std::string late(const Bucket& bucket, const Round& round) const BELFRY_REQUIRES(mutex_) {
    std::vector<std::string> missing;
    for (std::size_t m = 0; m < names_.size(); ++m)
      if (!round.buckets[m]) missing.push_back(names_[m]);
    return concat(bucket.name, ": ", missing.empty() ? "a tower" : join(missing, ", "),
                  " did not come to the reduction within ", options_.timeout_seconds, " s");
  }

  const std::vector<std::string> names_;
  const CommunicatorOptions options_;
  const std::chrono::duration<double> timeout_;
  Mutex mutex_;
  Condition changed_;
  std::vector<std::size_t> prepared_ BELFRY_GUARDED_BY(mutex_);   // by member
  std::vector<std::uint64_t> started_ BELFRY_GUARDED_BY(mutex_);  // by member
  // Members read a round's operands, and write them, between meeting points without the mutex.
  std::vector<Round> rounds_ BELFRY_GUARDED_BY(mutex_);
  std::string failure_ BELFRY_GUARDED_BY(mutex_);
};

class SharedReduction final : public Collective {
 public:
  SharedReduction(SharedMemory& group, int member, Bucket bucket)
      : group_(group), member_(member), bucket_(std::move(bucket)) {}
  ~SharedReduction() override { group_.forget_one_of(member_); }
  void start(Stream&) override { number_ = group_.start(member_, bucket_); }
  void finish(Stream&) override { group_.finish(member_, bucket_, number_); }
  void move(std::span<const Segment> segments) override {
    bucket_.segments = {segments.begin(), segments.end()};
  }

 private:
  SharedMemory& group_;
  int member_;
  Bucket bucket_;
  std::uint64_t number_ = 0;
};

std::unique_ptr<Collective> SharedMemory::all_reduce(int member, Bucket bucket) {
  ensure(member >= 0 && member < size(), "all_reduce: there is no member ", member);
  make_rounds_for(member);
  return std::make_unique<SharedReduction>(*this, member, std::move(bucket));
}

}  // namespace

std::shared_ptr<Communicator> make_shared_memory_communicator(std::vector<std::string> names,
                                                              const CommunicatorOptions& options) {
  return std::make_shared<SharedMemory>(std::move(names), options);
}

}  // namespace belfry::cpu
