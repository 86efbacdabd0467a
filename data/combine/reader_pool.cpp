#include "belfry/data/combine/reader_pool.h"

#include <deque>
#include <exception>
#include <system_error>
#include <utility>

#include "belfry/data/profile.h"
#include "belfry/data/transforms/read_ahead.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {

// One source. Invariants, with Shared::mutex held:
// (1) entries [taken, produced) modulo the ring's size are ready, and the consumer's;
// (2) while `busy`, every other entry and the source belong to the thread that set it, which may be
//     the consumer's; at other times nobody touches them;
// (3) `ended` is set once and nothing is produced after it.
// So Shared::mutex guards all but `source` and `ring`; it cannot be named here.
struct ReaderPool::Reading {
  IteratorPtr source;
  std::vector<ReadAhead> ring;
  std::size_t taken = 0, produced = 0;  // elements since the start
  bool busy = false, queued = false, ended = false, closed = false;
  std::exception_ptr failure;  // the lack of memory that ended it

  bool wanted() const { return !ended && !closed && produced - taken < ring.size(); }
  // Nothing is ready, nor will be.
  void require_end() const {
    if (failure) std::rethrow_exception(failure);
  }
};

struct ReaderPool::Shared {
  Mutex mutex;
  Condition work, changed;
  std::deque<std::shared_ptr<Reading>> queue BELFRY_GUARDED_BY(mutex);
  bool stopping BELFRY_GUARDED_BY(mutex) = false;

  std::shared_ptr<Profile> profile;  // owns the meter
  Meter* meter = nullptr;

  // Reads one element; the caller has set reading.busy.
  void read_one(Reading& reading) BELFRY_REQUIRES(mutex) {
    ReadAhead& entry = reading.ring[reading.produced % reading.ring.size()];
    bool more = false;
    {
      MutexUnlock meanwhile(mutex);
      std::int64_t begin = meter ? nanoseconds_now() : 0;
      try {
        more = entry.read(*reading.source);
      } catch (...) {
        reading.failure = std::current_exception();
      }
      if (meter) meter->busy += nanoseconds_now() - begin;
    }
    reading.ended = !more;
    reading.produced += more;
    changed.notify_all();
  }

  void enqueue(const std::shared_ptr<Reading>& reading) BELFRY_REQUIRES(mutex) {
    if (reading->queued || reading->busy || !reading->wanted()) return;
    reading->queued = true;
    queue.push_back(reading);
    work.notify_one();
  }

  // The body of a thread.
  void run() {
    MutexLock lock(mutex);
    while (true) {
      while (!stopping && queue.empty()) work.wait(mutex);
      if (stopping) return;
      std::shared_ptr<Reading> reading = std::move(queue.front());
      queue.pop_front();
      reading->queued = false;
      if (reading->busy) continue;
      reading->busy = true;
      while (!stopping && reading->wanted()) read_one(*reading);
      reading->busy = false;
      changed.notify_all();
    }
  }
};

class ReaderPool::Reader final : public Iterator {
 public:
  Reader(std::shared_ptr<Shared> shared, IteratorPtr source, std::size_t ring)
      : shared_(std::move(shared)), reading_(std::make_shared<Reading>()) {
    consumed_.note(*source);
    reading_->source = std::move(source);
    reading_->ring.resize(ring);
    MutexLock lock(shared_->mutex);
    shared_->enqueue(reading_);
  }

  ~Reader() override {
    MutexLock lock(shared_->mutex);
    reading_->closed = true;
    while (reading_->busy) shared_->changed.wait(shared_->mutex);
    IteratorPtr source = std::move(reading_->source);
    lock.unlock();  // before it is destroyed
  }

  bool next(Element& out) override {
    Reading& reading = *reading_;
    MutexLock lock(shared_->mutex);
    if (shared_->meter) {
      shared_->meter->looks.add(1);
      shared_->meter->queued.add(reading.produced - reading.taken);
    }
    while (reading.taken == reading.produced && !reading.ended) {
      if (reading.busy) {
        shared_->changed.wait(shared_->mutex);
        continue;
      }
      // No thread has begun: they all read something else, which may take long.
      reading.busy = true;
      shared_->read_one(reading);
      reading.busy = false;
    }
    if (reading.taken == reading.produced) return reading.require_end(), false;
    ReadAhead& entry = reading.ring[reading.taken % reading.ring.size()];
    std::swap(out, entry.element);
    std::swap(consumed_, entry.after);
    std::exception_ptr error = std::exchange(entry.error, nullptr);
    ++reading.taken;
    shared_->enqueue(reading_);
    lock.unlock();
    if (error) std::rethrow_exception(error);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    Reading& reading = *reading_;
    MutexLock lock(shared_->mutex);
    while (reading.busy) shared_->changed.wait(shared_->mutex);
    std::int64_t skipped = 0;
    for (; skipped < count && reading.taken < reading.produced; ++skipped) {
      ReadAhead& entry = reading.ring[reading.taken++ % reading.ring.size()];
      std::swap(consumed_, entry.after);
      entry.error = nullptr;
    }
    if (skipped < count && !reading.ended) {
      reading.busy = true;  // nothing is ready, and nobody reads meanwhile
      lock.unlock();
      std::exception_ptr error;
      bool is_over = false;
      try {
        skipped += pass_over(*reading.source, count - skipped);
      } catch (...) {
        error = std::current_exception();
        is_over = is_shortage();
      }
      lock.lock();
      reading.busy = false;
      if (is_over) {
        reading.ended = true;
        reading.failure = error;
      }
      if (error) std::rethrow_exception(error);
    }
    if (skipped < count) reading.require_end();
    shared_->enqueue(reading_);
    return skipped;
  }

  void position(Position& at) override { consumed_.append_to(at); }

 private:
  std::int64_t pass_over(Iterator& source, std::int64_t count) {
    std::int64_t skipped = 0;
    std::exception_ptr error;
    try {
      skipped = source.skip(count);
    } catch (...) {
      if (is_shortage()) throw;
      error = std::current_exception();
    }
    consumed_.note(source);
    if (error) std::rethrow_exception(error);
    return skipped;
  }

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Reading> reading_;
  SourcePosition consumed_;  // the source's, once it had yielded the element last taken
};

ReaderPool::ReaderPool(int threads, const Pass& pass)
    : shared_(std::make_shared<Shared>()), limit_(threads) {
  shared_->profile = pass.profile;
  shared_->meter = pass.meter;
  if (!pass.meter) return;
  pass.meter->asynchronous = true;
  pass.meter->workers = threads;
}

ReaderPool::~ReaderPool() {
  {
    MutexLock lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->work.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

IteratorPtr ReaderPool::read_ahead(IteratorPtr source, std::int64_t elements) {
  if (threads_.size() < limit_) {
    try {
      threads_.emplace_back([shared = shared_] { shared->run(); });
    } catch (const std::system_error&) {  // too many threads: those there are must do
    }
  }
  return std::make_unique<Reader>(shared_, std::move(source), static_cast<std::size_t>(elements));
}

}  // namespace belfry::data
