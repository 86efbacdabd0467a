#pragma once
// Reductions over emulated GPUs.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "belfry/framework/backend/cuda/communicator.h"
#include "belfry/framework/backend/cuda/launch.h"
#include "belfry/framework/backend/cuda/stream.h"
#include "belfry/framework/backend/segments.h"
#include "belfry/framework/base/error.h"
#include "emulated_api.h"

namespace belfry::cuda {

/// The state that a test looks at, and sets, while members use the reducer.
struct ReducerScript {
  std::mutex mutex;
  bool never_done = false;      // reductions begin and do not end
  std::string failure;          // of member 0, once something was enqueued
  std::atomic<int> aborts = 0;  // begun
  std::atomic<int> ended = 0;   // of those
};

/// In NCCL's place. The member that comes last enqueues the reduction, behind what all have
/// enqueued so far.
class HostReducer final : public Reducer {
 public:
  HostReducer(std::vector<Device*> devices, ReducerScript& script)
      : devices_(std::move(devices)), script_(script), begun_(devices_.size()) {}

  void begin(int member, const Bucket& bucket, Stream& stream) override {
    std::size_t number = begun_[static_cast<std::size_t>(member)]++;
    if (rounds_.size() <= number) rounds_.resize(number + 1);
    Round& round = rounds_[number];
    round.buckets[member] = bucket;
    round.streams.push_back(&stream);
    round.written.push_back(devices_[static_cast<std::size_t>(member)]->make_event());
    stream.record(*round.written.back());
    if (script_.never_done) enqueue_endless(stream);
    if (round.streams.size() == devices_.size()) join(round, stream);
  }
  bool enqueued(int member) override {
    std::lock_guard lock(script_.mutex);
    if (member == 0 && !script_.failure.empty()) fail(script_.failure);
    std::size_t number = begun_[static_cast<std::size_t>(member)];
    return number == 0 || script_.never_done || rounds_[number - 1].reduced;
  }
  // As NCCL's, it ends when the graphs are gone that hold reductions.
  void abort() override {
    ++script_.aborts;
    while (in_graphs_.use_count() > 1) std::this_thread::yield();
    ++script_.ended;
  }

 private:
  struct Round {
    std::map<int, Bucket> buckets;  // by member: sums are in their order
    std::vector<Stream*> streams;
    std::vector<std::unique_ptr<Event>> written;
    std::unique_ptr<Event> reduced;
  };

  void enqueue_endless(Stream& stream) {
    auto bind = [](const void* script, void**) -> std::function<void()> {
      return [script = static_cast<const ReducerScript*>(script)] {
        if (script->aborts == 0) throw NotReady();
      };
    };
    cuda::enqueue(stream,
                  {.function = &script_, .shape = {1, 1}, .arguments = nullptr, .bind = bind});
  }

  void join(Round& round, Stream& last) {
    for (const auto& event : round.written) last.wait(*event);
    bool captured = emulated_api().captures(handle_of(last));
    std::function<void()> work = [&round, held = captured ? in_graphs_ : nullptr] {
      std::vector<const Bucket*> all;
      for (const auto& [member, bucket] : round.buckets) all.push_back(&bucket);
      reduce_all(all, 0, elements_of(*all[0]));
    };
    auto bind = [](const void* function, void**) {
      return *static_cast<const std::function<void()>*>(function);
    };
    cuda::enqueue(last, {.function = &work, .shape = {1, 1}, .arguments = nullptr, .bind = bind});
    round.reduced = devices_[0]->make_event();
    last.record(*round.reduced);
    for (Stream* stream : round.streams) stream->wait(*round.reduced);
  }

  std::vector<Device*> devices_;
  ReducerScript& script_;
  std::shared_ptr<const int> in_graphs_ = std::make_shared<int>();  // captured reductions hold it
  std::deque<Round> rounds_;
  std::vector<std::size_t> begun_;
};

}  // namespace belfry::cuda
