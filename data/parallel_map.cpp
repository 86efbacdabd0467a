#include "belfry/data/parallel_map.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "belfry/data/read_ahead.h"
#include "belfry/data/transforms.h"

namespace belfry::data {
namespace {

struct Slot : ReadAhead {  // its error is from the source or from the function
  bool done = false;       // guarded by Work::mutex
};

// What the iterator shares with its tasks. Elements are numbered from the start and live in slot
// number modulo ring.size(). Invariants, with the lock held:
// (1) taken <= claimed <= pulled <= taken + ring.size();
// (2) elements [taken, claimed) belong to whoever claimed them until they are done, then to the
//     consumer, as do all slots outside [taken, pulled); nobody touches [claimed, pulled);
// (3) running <= limit is the number of calls in progress, tasks >= 0 that of tasks queued or
// alive.
class Work {
 public:
  Work(ElementFunction function, std::size_t slots, int limit)
      : function_(std::move(function)), ring_(slots), limit_(limit) {}

  bool full() const { return pulled_ - taken_ == ring_.size(); }  // consumer's thread only,
  bool empty() const { return pulled_ == taken_; }                // which alone changes both
  Slot& tail() { return ring_[pulled_ % ring_.size()]; }

  // Hands the tail over. Returns whether one more task should be started for it.
  bool push() {
    std::lock_guard lock(mutex_);
    ++pulled_;
    bool start = tasks_ < limit_ && pulled_ - claimed_ > static_cast<std::size_t>(tasks_);
    tasks_ += start;
    return start;
  }

  // Waits for the oldest element; it stays the consumer's until pop(). Sets `waited` if it was not
  // done.
  Slot& head(bool& waited) {
    std::unique_lock lock(mutex_);
    Slot& slot = ring_[taken_ % ring_.size()];
    waited = !slot.done;
    while (!slot.done) {
      if (claimed_ == taken_ && running_ < limit_) {
        run_next(lock);
      } else {
        changed_.wait(lock);
      }
    }
    return slot;
  }

  void pop() {
    std::lock_guard lock(mutex_);
    ++taken_;
  }

  int limit() const { return limit_; }  // consumer's thread only, as set_limit
  void set_limit(int limit) {
    std::lock_guard lock(mutex_);
    limit_ = limit;
  }

  // The body of a task: works while there is something to do.
  void work() {
    std::unique_lock lock(mutex_);
    while (claimed_ < pulled_ && running_ < limit_) run_next(lock);
    --tasks_;
  }

  // Drops what has not been begun and waits for the rest. A task that starts later finds nothing to
  // do; the function, and what it holds, is gone.
  void close() {
    std::unique_lock lock(mutex_);
    claimed_ = pulled_;
    changed_.wait(lock, [&] { return running_ == 0; });
    function_ = nullptr;
    ring_ = {};
  }

 private:
  void run_next(std::unique_lock<std::mutex>& lock) {
    Slot& slot = ring_[claimed_++ % ring_.size()];
    ++running_;
    lock.unlock();
    if (!slot.error) {
      try {
        function_(slot.element);
      } catch (...) {
        slot.error = std::current_exception();
      }
    }
    lock.lock();
    slot.done = true;
    --running_;
    changed_.notify_all();
  }

  ElementFunction function_;
  std::vector<Slot> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::size_t taken_ = 0, claimed_ = 0, pulled_ = 0;
  int limit_, running_ = 0, tasks_ = 0;
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
  ParallelMap(IteratorPtr source, ElementFunction function, int workers,
              std::shared_ptr<Scheduler> scheduler)
      : source_(std::move(source)),
        scheduler_(std::move(scheduler)),
        autotuned_(workers == autotune),
        most_(autotuned_ ? scheduler_->threads() : workers),
        work_(std::make_shared<Work>(std::move(function), static_cast<std::size_t>(2 * most_),
                                     autotuned_ ? 1 : workers)) {}

  ~ParallelMap() override { work_->close(); }

  bool next(Element& out) override {
    while (!ended_ && !work_->full()) pull();
    if (work_->empty()) return false;
    bool waited = false;
    Slot& slot = work_->head(waited);
    std::swap(out, slot.element);
    std::swap(consumed_, slot.after);
    std::exception_ptr error = std::exchange(slot.error, nullptr);
    slot.done = false;
    started_ = true;
    work_->pop();
    if (autotuned_) work_->set_limit(tuner_.tune(work_->limit(), most_, waited));
    if (error) std::rethrow_exception(error);
    return true;
  }

  void position(Position& at) override {
    if (started_) {
      at.append(consumed_);
    } else {
      source_->position(at);  // nothing has been read ahead
    }
  }

 private:
  void pull() {
    ended_ = !work_->tail().read(*source_);
    if (!ended_ && work_->push()) scheduler_->run([work = work_] { work->work(); });
  }

  IteratorPtr source_;
  std::shared_ptr<Scheduler> scheduler_;
  bool autotuned_;
  int most_;
  std::shared_ptr<Work> work_;
  Tuner tuner_;
  Position consumed_;  // the source's, once it had yielded the element last taken
  bool started_ = false, ended_ = false;
};

}  // namespace

IteratorPtr parallel_map(IteratorPtr source, ElementFunction function, int workers,
                         std::shared_ptr<Scheduler> scheduler) {
  return std::make_unique<ParallelMap>(std::move(source), std::move(function), workers,
                                       std::move(scheduler));
}

}  // namespace belfry::data
