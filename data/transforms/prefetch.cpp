#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "belfry/data/profile.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

// Invariants, with the lock held:
// (1) entries [taken_, produced_) modulo the ring's size are ready, and the consumer's;
// (2) every other entry, and source_, is the producer's once its thread has started;
// (3) ended_ is set once and nothing is produced after it.
class Prefetch final : public Iterator {
 public:
  Prefetch(const Dataset& source, std::int64_t buffer, Pass pass)
      : stop_(pass.stop),
        autotuned_(buffer == autotune),
        ring_(autotuned_ ? most_tuned : static_cast<std::size_t>(buffer)),
        scheduler_(pass.scheduler),
        profile_(pass.profile),
        meter_(pass.meter),
        limit_(autotuned_ ? 2 : ring_.size()) {
    pass.stop = stop_.token();
    source_ = source.iterate(std::move(pass));
    if (!meter_) return;
    meter_->asynchronous = true;
    if (autotuned_) found_earlier_ = meter_->buffer;
    meter_->buffer = limit_;
  }

  ~Prefetch() override {
    stop_.request();
    if (!producer_.joinable()) return;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    producer_.join();
    scheduler_->release(reserved_);
  }

  bool next(Element& out) override {
    if (!producer_.joinable()) start();
    MutexLock lock(mutex_);
    if (meter_) {
      meter_->looks.add(1);
      meter_->queued.add(produced_ - taken_);
    }
    if (autotuned_ && !is_ready()) grow();
    if (!is_ready()) wait();
    if (taken_ == produced_ && failure_) std::rethrow_exception(failure_);
    if (taken_ == produced_) return false;
    ReadAhead& entry = *ring_[taken_ % ring_.size()];
    std::swap(out, entry.element);
    std::swap(consumed_, entry.after);
    if (autotuned_) bytes_ = bytes_of(out.features);
    // The buffer size that an earlier pass has found out holds for this one.
    while (limit_ < found_earlier_ && double_limit()) {
    }
    found_earlier_ = 0;
    std::exception_ptr error = std::exchange(entry.error, nullptr);
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    return producer_.joinable() ? Iterator::skip(count) : source_->skip(count);
  }

  void position(Position& at) override {
    // Before the first next() the source stands where the consumer does, and has no other user.
    if (producer_.joinable() && has_taken()) {
      consumed_.append_to(at);
    } else {
      source_->position(at);
    }
  }

 private:
  static constexpr std::size_t most_tuned = 64;

  void start() {
    try {
      producer_ = std::thread([this] { produce(); });
    } catch (const std::system_error& error) {
      throw OutOfMemory(concat("prefetch: no thread could be started: ", error.what()));
    }
  }

  // These are for the consumer, which alone changes taken_.
  bool is_ready() const BELFRY_NO_THREAD_SAFETY_ANALYSIS { return taken_ < produced_ || ended_; }
  bool has_taken() const BELFRY_NO_THREAD_SAFETY_ANALYSIS { return taken_ > 0; }

  // Falling asleep and being woken takes longer than making a small batch. So the consumer looks
  // out for it a little while before it sleeps, unless the last one took much longer.
  void wait() BELFRY_REQUIRES(mutex_) {
    constexpr std::int64_t little_while = 20'000, much_longer = 100'000;  // nanoseconds
    std::int64_t begin = nanoseconds_now();
    if (last_wait_ < much_longer) {
      MutexUnlock meanwhile(mutex_);
      while (!is_ready() && nanoseconds_now() - begin < little_while) {
      }
    }
    while (!is_ready()) changed_.wait(mutex_);
    last_wait_ = nanoseconds_now() - begin;
  }

  // The consumer waits: a larger buffer helps if this one has been full since it last did, for then
  // the source has its fast and its slow moments.
  void grow() BELFRY_REQUIRES(mutex_) {
    if (std::exchange(was_full_, false)) double_limit();
  }

  bool double_limit() BELFRY_REQUIRES(mutex_) {
    Bytes more(bytes_ * static_cast<std::int64_t>(limit_));
    if (limit_ == ring_.size() || !scheduler_->reserve(more)) return false;
    reserved_.count += more.count;
    limit_ *= 2;
    if (meter_) meter_->buffer = limit_;
    return true;
  }

  bool may_produce(std::size_t next) const BELFRY_REQUIRES(mutex_) {
    return stopping_ || next - taken_ < limit_;
  }

  // False at the end, which a lack of memory is too.
  bool read(std::unique_ptr<ReadAhead>& entry) noexcept {
    try {
      if (!entry) entry = std::make_unique<ReadAhead>();
      return entry->read(*source_);
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  void produce() {
    for (std::size_t next = 0;; ++next) {
      MutexLock lock(mutex_);
      if (!may_produce(next)) {
        was_full_ = true;
        std::int64_t begin = nanoseconds_now();
        while (!may_produce(next)) changed_.wait(mutex_);
        if (meter_) meter_->downstream += nanoseconds_now() - begin;
      }
      if (stopping_) return;
      lock.unlock();
      bool more = read(ring_[next % ring_.size()]);
      lock.lock();
      if (more) {
        ++produced_;
      } else {
        ended_ = true;
      }
      lock.unlock();
      changed_.notify_all();
      if (!more) return;
    }
  }

  LinkedStop stop_;  // ends the source when this ends, though the stream may go on
  IteratorPtr source_;
  bool autotuned_;
  std::vector<std::unique_ptr<ReadAhead>> ring_;  // made as they are needed
  std::exception_ptr failure_;  // of the producer, for the consumer once it has ended
  std::shared_ptr<Scheduler> scheduler_;
  std::shared_ptr<Profile> profile_;  // owns the meter
  Meter* meter_;
  std::int64_t bytes_ = 0;         // of the element last taken
  Bytes reserved_ = Bytes(0);      // of the scheduler's memory
  std::size_t found_earlier_ = 0;  // the limit at the end of an earlier pass
  std::int64_t last_wait_ = 0;     // nanoseconds
  SourcePosition consumed_;        // the source's, once it had yielded the element last taken

  Mutex mutex_;
  Condition changed_;
  std::size_t taken_ BELFRY_GUARDED_BY(mutex_) = 0;  // elements since the start
  std::size_t limit_ BELFRY_GUARDED_BY(mutex_);      // elements that may be ready
  bool stopping_ BELFRY_GUARDED_BY(mutex_) = false;
  bool was_full_ BELFRY_GUARDED_BY(mutex_) = false;  // since the consumer last had to wait
  // These two change under mutex_; the consumer may look at them without it.
  std::atomic<std::size_t> produced_ = 0;  // elements since the start
  std::atomic<bool> ended_ = false;

  std::thread producer_;  // last, so that it ends before what it uses
};

}  // namespace

void require_ahead(std::string_view what, std::int64_t elements) {
  constexpr std::int64_t most = 1 << 20;
  require(elements <= most, what, ": at most ", most, " elements can be read ahead, got ", elements,
          "; cache() keeps all of them");
}

Transform prefetch(std::int64_t buffer) {
  require(buffer >= 1 || buffer == autotune,
          "prefetch: the buffer must hold at least 1 element, or be data::autotune; got ", buffer);
  require_ahead("prefetch", buffer);
  return [=](Dataset source) {
    auto make = [=](const Pass& pass) { return std::make_unique<Prefetch>(source, buffer, pass); };
    return Dataset("prefetch", {source}, make, same_elements(source.info()));
  };
}

}  // namespace belfry::data
