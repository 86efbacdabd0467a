#include "belfry/data/transforms/parallel_map.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "belfry/data/profile.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/delivered.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {
namespace {

struct RingEntry : ReadAhead {  // its error is from the source or from the function
  std::int64_t number = 0;      // of the element, in the order of the source
  bool done = false;            // guarded by Work::mutex_, which cannot be named here
};

// The work that the iterator shares with its tasks. Elements are numbered from the start and live
// in entry order[number modulo ring.size()]. Invariants, with the lock held:
// (1) taken <= claimed <= pulled <= taken + ring.size();
// (2) elements [taken, claimed) belong to whoever claimed them until they are done, then to the
//     consumer, as do all entries outside [taken, pulled); nobody touches [claimed, pulled);
// (3) running <= limit is the number of calls in progress, tasks >= 0 that of tasks queued or
//     alive.
class Work {
 public:
  Work(ElementFunction function, std::size_t entries, int limit, bool ordered,
       std::shared_ptr<Profile> profile, Meter* meter)
      : function_(std::move(function)),
        ring_(entries),
        order_(entries),
        limit_(limit),
        ordered_(ordered),
        profile_(std::move(profile)),
        meter_(meter) {
    for (std::size_t i = 0; i < entries; ++i) order_[i] = &ring_[i];
  }

  // These are for the consumer's thread, which alone changes what they read.
  bool full() const BELFRY_NO_THREAD_SAFETY_ANALYSIS { return pulled_ - taken_ == ring_.size(); }
  bool empty() const BELFRY_NO_THREAD_SAFETY_ANALYSIS { return pulled_ == taken_; }
  RingEntry& tail() BELFRY_NO_THREAD_SAFETY_ANALYSIS { return *order_[pulled_ % ring_.size()]; }
  int limit() const BELFRY_NO_THREAD_SAFETY_ANALYSIS { return limit_; }

  // The consumer is back: what was done has waited for it.
  void resume() {
    MutexLock lock(mutex_);
    if (idle_since_ != 0) meter_->downstream += nanoseconds_now() - std::exchange(idle_since_, 0);
  }

  // Hands the tail over. Returns whether one more task should be started for it.
  bool push() {
    MutexLock lock(mutex_);
    ++pulled_;
    bool start = tasks_ < limit_ && pulled_ - claimed_ > static_cast<std::size_t>(tasks_);
    tasks_ += start;
    return start;
  }

  // Waits for the next element to be yielded; it stays the consumer's until pop(). Sets `waited` if
  // it was not done.
  RingEntry& head(bool& waited) {
    MutexLock lock(mutex_);
    if (meter_) {
      meter_->looks.add(1);
      meter_->queued.add(done_);
    }
    waited = !find_done();
    while (!find_done()) {
      if (claimed_ == taken_ && running_ < limit_) {
        run_next();
      } else {
        changed_.wait(mutex_);
      }
    }
    return *order_[taken_ % ring_.size()];
  }

  void pop() {
    MutexLock lock(mutex_);
    order_[taken_++ % ring_.size()]->done = false;
    --done_;
  }

  // For the consumer's thread, too.
  void set_limit(int limit) {
    MutexLock lock(mutex_);
    limit_ = limit;
    if (meter_) meter_->workers = limit;
  }

  // The body of a task: works while there is something to do.
  void work() {
    MutexLock lock(mutex_);
    while (claimed_ < pulled_ && running_ < limit_) run_next();
    --tasks_;
  }

  // Drops what has not been begun and waits for the rest. A task that starts later finds nothing to
  // do; the function, and what it holds, is gone.
  void close() {
    MutexLock lock(mutex_);
    claimed_ = pulled_;
    while (running_ > 0) changed_.wait(mutex_);
    function_ = nullptr;
    ring_ = {};
  }

 private:
  // Whether the head is done; unless order matters, another element that is done becomes the head.
  bool find_done() BELFRY_REQUIRES(mutex_) {
    RingEntry*& head = order_[taken_ % ring_.size()];
    if (!ordered_ && !head->done && done_ > 0)
      for (std::size_t i = taken_ + 1; i < claimed_ && !head->done; ++i)
        if (RingEntry*& other = order_[i % ring_.size()]; other->done) std::swap(head, other);
    return head->done;
  }

  void run_next() BELFRY_REQUIRES(mutex_) {
    RingEntry& entry = *order_[claimed_++ % ring_.size()];
    ++running_;
    {
      MutexUnlock meanwhile(mutex_);
      std::int64_t begin = meter_ ? nanoseconds_now() : 0;
      if (!entry.error) {
        try {
          function_(entry.element, entry.number);
        } catch (...) {
          entry.error = std::current_exception();
        }
      }
      if (meter_) meter_->busy += nanoseconds_now() - begin;
    }
    entry.done = true;
    ++done_;
    --running_;
    if (meter_ && running_ == 0 && claimed_ == pulled_) idle_since_ = nanoseconds_now();
    changed_.notify_all();
  }

  ElementFunction function_;  // replaced when no call is in progress
  Mutex mutex_;
  Condition changed_;
  std::vector<RingEntry> ring_ BELFRY_GUARDED_BY(mutex_);
  std::vector<RingEntry*> order_ BELFRY_GUARDED_BY(mutex_);
  std::size_t taken_ BELFRY_GUARDED_BY(mutex_) = 0;
  std::size_t claimed_ BELFRY_GUARDED_BY(mutex_) = 0;
  std::size_t pulled_ BELFRY_GUARDED_BY(mutex_) = 0;
  int limit_ BELFRY_GUARDED_BY(mutex_);
  int running_ BELFRY_GUARDED_BY(mutex_) = 0;
  int tasks_ BELFRY_GUARDED_BY(mutex_) = 0;
  int done_ BELFRY_GUARDED_BY(mutex_) = 0;
  // When all that was pulled had been done; 0: there is work.
  std::int64_t idle_since_ BELFRY_GUARDED_BY(mutex_) = 0;
  bool ordered_;
  std::shared_ptr<Profile> profile_;  // owns the meter
  Meter* meter_;
};

// Finds how many workers keep the consumer from waiting: one more whenever it had to wait for a
// good part of the last elements, one fewer after a long time without waiting.
class Tuner {
 public:
  int tune(int limit, int most, bool waited) {
    waits_ += waited;
    if (++seen_ < period) return limit;
    bool starved = waits_ > period / 8;
    calm_ = waits_ == 0 ? calm_ + 1 : 0;
    seen_ = waits_ = 0;
    if (starved) return std::min(limit + 1, most);
    if (calm_ < patience) return limit;
    calm_ = 0;
    return std::max(limit - 1, 1);
  }

 private:
  static constexpr int period = 16;    // elements
  static constexpr int patience = 64;  // periods
  int seen_ = 0, waits_ = 0, calm_ = 0;
};

class ParallelMap final : public Iterator {
 public:
  ParallelMap(IteratorPtr source, ElementFunction function, ParallelMapOptions options,
              const Pass& pass)
      : source_(std::move(source)),
        ordered_(options.ordered),
        autotuned_(options.workers == autotune),
        scheduler_(autotuned_ ? pass.scheduler
                              : Scheduler::for_workers(options.workers, pass.scheduler)),
        most_(autotuned_ ? scheduler_->threads() : options.workers) {
    std::size_t entries = 2 * static_cast<std::size_t>(most_);
    if (!ordered_) entries = std::min<std::size_t>(entries, Delivered::window);
    int workers = options.workers;
    // The number of workers that an earlier pass has found out holds for this one.
    if (autotuned_) workers = pass.meter ? std::min<int>(pass.meter->workers, most_) : 1;
    work_ = std::make_shared<Work>(std::move(function), entries, workers, ordered_, pass.profile,
                                   pass.meter);
    if (!pass.meter) return;
    pass.meter->asynchronous = true;
    pass.meter->buffer = entries;
    pass.meter->workers = work_->limit();
  }

  ~ParallelMap() override { work_->close(); }

  bool next(Element& out) override {
    work_->resume();
    while (!ended_ && !work_->full() && !too_far_ahead()) pull();
    if (work_->empty()) return false;
    bool waited = false;
    RingEntry& entry = work_->head(waited);
    std::swap(out, entry.element);
    if (ordered_) {
      std::swap(consumed_, entry.after);
    } else {
      delivered_.add(entry.number, std::move(entry.after));
    }
    std::exception_ptr error = std::exchange(entry.error, nullptr);
    started_ = true;
    work_->pop();
    if (autotuned_) work_->set_limit(tuner_.tune(work_->limit(), most_, waited));
    if (error) std::rethrow_exception(error);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    // Elements that were read ahead are done with, so that only the rest can be spared.
    return started_ || !ordered_ ? Iterator::skip(count) : source_->skip(count);
  }

  void position(Position& at) override {
    if (!ordered_) {
      delivered_.position(at, *source_);
    } else if (started_) {
      consumed_.append_to(at);
    } else {
      source_->position(at);  // nothing has been read ahead
    }
  }

 private:
  bool too_far_ahead() const {
    return !ordered_ && pulled_ - delivered_.first_missing() >= Delivered::window;
  }

  void pull() {
    if (!ordered_) delivered_.begin(*source_);
    std::int64_t number = pulled_++;
    if (!ordered_ && delivered_.contains(number)) {
      ended_ = source_->skip(1) == 0;
      SourcePosition after;
      after.note(*source_);
      delivered_.add(number, std::move(after));
      return;
    }
    RingEntry& entry = work_->tail();
    entry.number = number;
    ended_ = !entry.read(*source_);
    if (!ended_ && work_->push()) scheduler_->run([work = work_] { work->work(); });
  }

  IteratorPtr source_;
  bool ordered_, autotuned_;
  std::shared_ptr<Scheduler> scheduler_;
  int most_;
  std::shared_ptr<Work> work_;
  Tuner tuner_;
  std::int64_t pulled_ = 0;
  SourcePosition consumed_;  // ordered: the source's, once it had yielded the element last taken
  Delivered delivered_;      // unordered
  bool started_ = false, ended_ = false;
};

}  // namespace

IteratorPtr parallel_map(IteratorPtr source, ElementFunction function, ParallelMapOptions options,
                         const Pass& pass) {
  return std::make_unique<ParallelMap>(std::move(source), std::move(function), options, pass);
}

}  // namespace belfry::data
