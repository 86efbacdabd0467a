#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "belfry/data/read_ahead.h"
#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// Invariants, with the lock held:
// (1) slots [taken_, produced_) modulo the ring's size are ready, and the consumer's;
// (2) every other slot, and source_, is the producer's once its thread has started;
// (3) ended_ is set once and nothing is produced after it.
class Prefetch final : public Iterator {
 public:
  Prefetch(IteratorPtr source, std::int64_t buffer)
      : source_(std::move(source)), ring_(static_cast<std::size_t>(buffer)) {}

  ~Prefetch() override {
    if (!producer_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    producer_.join();
  }

  bool next(Element& out) override {
    if (!producer_.joinable()) producer_ = std::thread([this] { produce(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_ < produced_ || ended_; });
    if (taken_ == produced_) return false;
    ReadAhead& slot = ring_[taken_ % ring_.size()];
    std::swap(out, slot.element);
    std::swap(consumed_, slot.after);
    std::exception_ptr error = std::exchange(slot.error, nullptr);
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
    return true;
  }

  void position(Position& at) override {
    // Before the first next() the source stands where the consumer does, and has no other user.
    if (producer_.joinable() && taken_ > 0) {
      at.append(consumed_);
    } else {
      source_->position(at);
    }
  }

 private:
  void produce() {
    for (std::size_t next = 0;; ++next) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || next - taken_ < ring_.size(); });
      if (stopping_) return;
      lock.unlock();
      bool more = ring_[next % ring_.size()].read(*source_);
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

  IteratorPtr source_;
  std::vector<ReadAhead> ring_;
  Position consumed_;  // the source's, once it had yielded the element last taken

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::size_t taken_ = 0, produced_ = 0;  // elements since the start
  bool ended_ = false, stopping_ = false;

  std::thread producer_;  // last, so that it ends before what it uses
};

}  // namespace

Transform prefetch(std::int64_t buffer) {
  require(buffer >= 1, "prefetch: the buffer must hold at least 1 element, got ", buffer);
  return wrap([=](IteratorPtr source,
                  const Pass&) { return std::make_unique<Prefetch>(std::move(source), buffer); },
              [](const DatasetInfo& source) { return source; });
}

}  // namespace belfry::data
