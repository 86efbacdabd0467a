#pragma once
// CUDA's runtime without a GPU: kernels run on the host, in any order that CUDA allows.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "belfry/framework/backend/cuda/api.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::cuda {

constexpr std::int64_t emulated_memory = std::int64_t{1} << 32;  ///< bytes of one GPU

/// The exception of enqueued work that waits for another process: the work is run again later. Work
/// that is replayed goes on where it stopped.
struct NotReady {};

/// GPUs on which what is enqueued runs at some time until the host waits for it, or for work behind
/// it on another stream; when is drawn at random, the same in every run. Whoever reads too early,
/// or forgets to let a stream wait, gets wrong numbers. What CUDA does not allow during a capture
/// is an Error. From any thread.
class EmulatedApi final : public Api {
 public:
  struct Counts {
    int allocations = 0, launches = 0, copies = 0, waits = 0, replays = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const;
  /// From now on every call is refused, as after a kernel that read where there is no memory; or
  /// the GPUs are new, as in another process. No device is in use then.
  void set_broken(bool broken);
  std::int64_t memory_in_use() const;      ///< bytes, on all GPUs
  std::vector<std::string> take_ranges();  ///< names of those pushed since the last call
  int open_ranges() const;                 ///< pushed and not popped
  bool captures(StreamHandle stream);      ///< what is enqueued there
  /// The next `count` captures are spoilt when they begin, as by a call of another library.
  void spoil_next_captures(int count);
  int spoilt_captures() const;  ///< by calls that were refused, so far

  int device_count() noexcept override { return 4; }
  std::string why_none() override { return {}; }
  /// An H100's, but for the memory.
  Properties properties(int) override {
    return {"emulated GPU", memory_of_one_, memory_of_one_, 9, 0, 132, 1.98e9, 2.619e9, 5120};
  }
  /// Devices that are made from now on say that they have so much. They hand out no more than the
  /// host has.
  void set_memory(std::int64_t bytes) { memory_of_one_ = bytes; }
  void use(int device) override;
  void synchronize_device() override;

  PoolHandle create_pool(int device) override;
  void destroy_pool(PoolHandle pool) override;
  bool open_pool(PoolHandle, int, int) override { return true; }
  void* allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) override;
  void free(void* memory, StreamHandle stream) override;
  void* allocate_host(std::size_t bytes) override;
  void free_host(void* memory) override;
  bool is_pinned(const void* memory) override;

  StreamHandle create_stream() override;
  void destroy_stream(StreamHandle stream) override;
  void synchronize(StreamHandle stream) override;
  void copy(void* to, const void* from, std::size_t bytes, Direction direction,
            StreamHandle stream) override;
  void launch(const KernelCall& call, StreamHandle stream) override;

  EventHandle create_event(bool timed) override;
  void destroy_event(EventHandle event) override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;
  bool done(EventHandle event) override;
  void synchronize(EventHandle event) override;
  /// A microsecond for each piece of work between them on the stream that both are of.
  double seconds_between(EventHandle first, EventHandle second) override;

  void begin_capture(StreamHandle stream) override;
  GraphHandle end_capture(StreamHandle stream) override;
  void replay(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override;

  void push_range(const char* name) noexcept override;
  void pop_range() noexcept override;

 private:
  using Work = std::function<void()>;
  struct Capture {
    std::vector<Work> work;
    bool spoilt = false;
  };
  struct Mark {
    StreamHandle stream = nullptr;
    std::int64_t position = 0;
    std::shared_ptr<Capture> capture;
  };
  struct Item {
    Work work;  // or a wait
    Mark waits_for;
  };
  struct QueueOf {
    std::deque<Item> items;
    std::int64_t enqueued = 0, executed = 0;
    std::shared_ptr<Capture> capture;  // that this stream takes part in
    std::thread::id captured_by;       // the thread that began it, of the stream that it began with
  };

  std::unique_lock<std::recursive_mutex> enter();
  QueueOf& queue(StreamHandle stream);
  void enqueue(StreamHandle stream, Work work);
  void execute(StreamHandle stream, std::int64_t until);
  bool execute_next(QueueOf& queue);
  bool reached(const Mark& mark);
  void let_time_pass();
  void refuse_and_spoil_captures(const char* call);
  void refuse_in_own_capture(const char* call) const;
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(++handles_));
  }

  mutable std::recursive_mutex mutex_;  // guards everything
  std::int64_t memory_of_one_ = emulated_memory;
  std::uintptr_t handles_ = 0;
  std::map<StreamHandle, QueueOf> streams_;
  std::map<EventHandle, Mark> events_;
  std::map<GraphHandle, std::vector<Work>> graphs_;
  std::map<const std::byte*, std::size_t> pinned_, memory_;
  Counts counts_;
  int spoilt_ = 0, to_spoil_ = 0;  // captures
  std::vector<std::string> ranges_;
  int open_ranges_ = 0;
  bool broken_ = false;
  PhiloxStream random_{philox_key(1, "emulated GPU")};
};

/// The one behind the devices "cuda:0" to "cuda:3" of this program.
EmulatedApi& emulated_api();

}  // namespace belfry::cuda
