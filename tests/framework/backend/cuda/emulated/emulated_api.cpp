#include "emulated_api.h"

#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "belfry/framework/backend/cuda/device.h"
#include "belfry/framework/backend/cuda/toolkit/runtime_api.h"
#include "belfry/framework/base/error.h"
#include "blocks.h"
#include "host_reducer.h"

namespace belfry::cuda {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

const DeviceRegistration registration(
    "cuda", [](int index) { return make_device(emulated_api(), index); },
    [] { return devices_present(emulated_api()); });

// Makes towers on several emulated GPUs possible.
const CommunicatorRegistration communicators([](Api&, std::span<const Member> members,
                                                const CommunicatorOptions& options) {
  static ReducerScript script;
  std::vector<Device*> devices;
  for (const Member& member : members) devices.push_back(member.device);
  return make_communicator(members, std::make_unique<HostReducer>(devices, script), options);
});

// Null for more than the whole GPU has.
std::byte* aligned(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(emulated_memory)) return nullptr;
  return static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 256) / 256 * 256));
}

}  // namespace

EmulatedApi& emulated_api() {
  static EmulatedApi api;
  return api;
}

// In the place of the toolkit's.
Api& runtime_api() { return emulated_api(); }

EmulatedApi::Counts EmulatedApi::counts() const {
  Lock lock(mutex_);
  return counts_;
}

void EmulatedApi::set_broken(bool broken) {
  Lock lock(mutex_);
  broken_ = broken;
  if (broken) return;
  streams_.clear();
  events_.clear();
  graphs_.clear();
  for (auto* all : {&memory_, &pinned_}) {
    for (const auto& [at, size] : *all) std::free(const_cast<std::byte*>(at));
    all->clear();
  }
}

std::unique_lock<std::recursive_mutex> EmulatedApi::enter() {
  std::unique_lock lock(mutex_);
  if (broken_) fail("cudaErrorIllegalAddress: an illegal memory access was encountered");
  return lock;
}

std::int64_t EmulatedApi::memory_in_use() const {
  Lock lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& [at, size] : memory_) bytes += static_cast<std::int64_t>(size);
  return bytes;
}

bool EmulatedApi::captures(StreamHandle stream) {
  Lock lock(mutex_);
  return queue(stream).capture != nullptr;
}

void EmulatedApi::spoil_next_captures(int count) {
  Lock lock(mutex_);
  to_spoil_ = count;
}

int EmulatedApi::spoilt_captures() const {
  Lock lock(mutex_);
  return spoilt_;
}

EmulatedApi::QueueOf& EmulatedApi::queue(StreamHandle stream) {
  auto found = streams_.find(stream);
  ensure(found != streams_.end(), "emulated GPU: a stream that does not exist");
  return found->second;
}

void EmulatedApi::enqueue(StreamHandle stream, Work work) {
  QueueOf& queue = this->queue(stream);
  if (queue.capture) {
    require(!queue.capture->spoilt,
            "cudaErrorStreamCaptureInvalidated: operation failed due to a "
            "previous error during capture");
    queue.capture->work.push_back(std::move(work));
  } else {
    queue.items.push_back({std::move(work), {}});
    ++queue.enqueued;
    let_time_pass();
  }
}

void EmulatedApi::execute(StreamHandle stream, std::int64_t until) {
  QueueOf& queue = this->queue(stream);
  while (queue.executed < until)
    if (!execute_next(queue)) std::this_thread::yield();
}

// Whether it is done: what waits for another process may have to wait longer.
bool EmulatedApi::execute_next(QueueOf& queue) {
  const Item& item = queue.items.front();
  auto end = [&] {
    queue.items.pop_front();
    ++queue.executed;
  };
  if (item.work) {
    try {
      item.work();
    } catch (const NotReady&) {
      return false;
    } catch (...) {
      end();
      throw;
    }
  } else if (!reached(item.waits_for)) {
    QueueOf& before = this->queue(item.waits_for.stream);
    if (!execute_next(before)) return false;
    return reached(item.waits_for) && execute_next(queue);
  }
  end();
  return true;
}

bool EmulatedApi::reached(const Mark& mark) {
  auto found = streams_.find(mark.stream);
  return found == streams_.end() || found->second.executed >= mark.position;
}

// Any stream may do some of its work at any time, as far as it needs not wait.
void EmulatedApi::let_time_pass() {
  for (auto& [handle, queue] : streams_) {
    if (random_.below(2) == 0) continue;
    for (std::uint64_t n = random_.below(8); n > 0 && !queue.items.empty(); --n) {
      const Item& item = queue.items.front();
      if (!item.work && !reached(item.waits_for)) break;
      execute_next(queue);
    }
  }
}

// A call that no thread may make while any stream is captured: it fails, and so does the capture.
void EmulatedApi::refuse_and_spoil_captures(const char* call) {
  bool any = false;
  for (auto& [handle, queue] : streams_)
    if (queue.capture) any = queue.capture->spoilt = true;
  if (any) ++spoilt_;
  require(!any, call,
          ": cudaErrorStreamCaptureUnsupported: operation not permitted when a stream is "
          "capturing");
}

// As cudaStreamCaptureModeThreadLocal has it: other threads may.
void EmulatedApi::refuse_in_own_capture(const char* call) const {
  for (const auto& [handle, queue] : streams_)
    ensure(!queue.capture || queue.captured_by != std::this_thread::get_id(),
           "emulated GPU: ", call, " while a stream is captured");
}

bool EmulatedApi::is_pinned(const void* memory) {
  auto lock = enter();
  auto* at = static_cast<const std::byte*>(memory);
  auto next = pinned_.upper_bound(at);
  if (next == pinned_.begin()) return false;
  auto [begin, size] = *std::prev(next);
  return at < begin + size;
}

void EmulatedApi::use(int device) { ensure(device >= 0 && device < 4, "emulated GPU ", device); }

void EmulatedApi::synchronize_device() {
  auto lock = enter();
  refuse_and_spoil_captures("cudaDeviceSynchronize");
  for (auto& [handle, queue] : streams_) execute(handle, queue.enqueued);
}

PoolHandle EmulatedApi::create_pool(int) { return new_handle<PoolHandle>(); }
void EmulatedApi::destroy_pool(PoolHandle) {}

void* EmulatedApi::allocate(PoolHandle, std::size_t bytes, StreamHandle stream) {
  auto lock = enter();
  ensure(!queue(stream).capture, "emulated GPU: an allocation in a capture");
  if (bytes == 0) return nullptr;
  ++counts_.allocations;
  std::byte* memory = aligned(bytes);
  if (!memory) return nullptr;
  std::memset(memory, 0xff, bytes);  // NaN: nobody may rely on zeros
  memory_[memory] = bytes;
  return memory;
}

void EmulatedApi::free(void* memory, StreamHandle) {
  auto lock = enter();
  ensure(memory_.erase(static_cast<std::byte*>(memory)) == 1, "emulated GPU: no such memory");
  std::free(memory);
}

void* EmulatedApi::allocate_host(std::size_t bytes) {
  auto lock = enter();
  refuse_in_own_capture("cudaHostAlloc");
  if (bytes == 0) return nullptr;
  ++counts_.allocations;
  std::byte* memory = aligned(bytes);
  if (memory) pinned_[memory] = bytes;
  return memory;
}

void EmulatedApi::free_host(void* memory) {
  auto lock = enter();
  refuse_in_own_capture("cudaFreeHost");
  for (auto& [handle, queue] : streams_) execute(handle, queue.enqueued);  // as CUDA does
  pinned_.erase(static_cast<std::byte*>(memory));
  std::free(memory);
}

StreamHandle EmulatedApi::create_stream() {
  auto lock = enter();
  auto handle = new_handle<StreamHandle>();
  streams_[handle];
  return handle;
}

void EmulatedApi::destroy_stream(StreamHandle stream) {
  auto lock = enter();
  execute(stream, queue(stream).enqueued);
  streams_.erase(stream);
}

void EmulatedApi::synchronize(StreamHandle stream) {
  auto lock = enter();
  ensure(!queue(stream).capture, "emulated GPU: cudaStreamSynchronize in a capture");
  ++counts_.waits;
  execute(stream, queue(stream).enqueued);
}

// As CUDA's: memory that is not pinned is read before the call returns, and written by then.
void EmulatedApi::copy(void* to, const void* from, std::size_t bytes, Direction direction,
                       StreamHandle stream) {
  auto lock = enter();
  ++counts_.copies;
  if (direction == Direction::to_device && !is_pinned(from)) {
    ensure(!queue(stream).capture, "emulated GPU: copy of memory that is not pinned in a capture");
    auto* begin = static_cast<const std::byte*>(from);
    enqueue(stream, [to, copy = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
    return;
  }
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  if (direction != Direction::to_host || is_pinned(to)) return;
  ensure(!queue(stream).capture, "emulated GPU: copy to memory that is not pinned in a capture");
  execute(stream, queue(stream).enqueued);
}

void EmulatedApi::launch(const KernelCall& call, StreamHandle stream) {
  auto lock = enter();
  ++counts_.launches;
  enqueue(stream, [shape = call.shape, kernel = call.bind(call.function, call.arguments)] {
    emulated::run_blocks(shape, kernel);
  });
}

EventHandle EmulatedApi::create_event(bool) {
  auto lock = enter();
  auto handle = new_handle<EventHandle>();
  events_[handle];
  return handle;
}

void EmulatedApi::destroy_event(EventHandle event) {
  auto lock = enter();
  events_.erase(event);
}

void EmulatedApi::record(EventHandle event, StreamHandle stream) {
  auto lock = enter();
  QueueOf& queue = this->queue(stream);
  events_.at(event) = {stream, queue.enqueued, queue.capture};
}

// A stream that waits for a captured event takes part in the capture from then on.
void EmulatedApi::wait(StreamHandle stream, EventHandle event) {
  auto lock = enter();
  const Mark mark = events_.at(event);
  if (!mark.stream) return;  // never recorded: CUDA does not wait
  if (mark.capture) {
    ensure(!queue(stream).capture || queue(stream).capture == mark.capture,
           "emulated GPU: a captured stream waits for another capture");
    queue(stream).capture = mark.capture;
    return;
  }
  ensure(!queue(stream).capture, "emulated GPU: a captured stream waits for work outside");
  QueueOf& queue = this->queue(stream);
  queue.items.push_back({{}, mark});
  ++queue.enqueued;
}

bool EmulatedApi::done(EventHandle event) {
  auto lock = enter();
  const Mark mark = events_.at(event);
  ensure(!mark.capture, "emulated GPU: cudaEventQuery of a captured event");
  if (!mark.stream || reached(mark)) return true;
  execute_next(queue(mark.stream));  // time passes
  return false;
}

void EmulatedApi::synchronize(EventHandle event) {
  auto lock = enter();
  const Mark mark = events_.at(event);
  ensure(!mark.capture, "emulated GPU: cudaEventSynchronize of a captured event");
  ++counts_.waits;
  if (mark.stream && streams_.contains(mark.stream)) execute(mark.stream, mark.position);
}

double EmulatedApi::seconds_between(EventHandle first, EventHandle second) {
  auto lock = enter();
  const Mark from = events_.at(first), to = events_.at(second);
  ensure(from.stream == to.stream && reached(from) && reached(to),
         "emulated GPU: cudaEventElapsedTime of events of two streams, or of one that is not done");
  return static_cast<double>(to.position - from.position) * 1e-6;
}

void EmulatedApi::begin_capture(StreamHandle stream) {
  auto lock = enter();
  queue(stream).capture = std::make_shared<Capture>();
  queue(stream).captured_by = std::this_thread::get_id();
  if (to_spoil_ > 0) {
    --to_spoil_;
    queue(stream).capture->spoilt = true;
  }
}

GraphHandle EmulatedApi::end_capture(StreamHandle stream) {
  auto lock = enter();
  std::shared_ptr<Capture> capture = queue(stream).capture;
  for (auto& [handle, queue] : streams_)
    if (queue.capture == capture) queue.capture = nullptr;
  if (capture->spoilt) return nullptr;
  auto graph = new_handle<GraphHandle>();
  graphs_[graph] = std::move(capture->work);
  return graph;
}

void EmulatedApi::replay(GraphHandle graph, StreamHandle stream) {
  auto lock = enter();
  ++counts_.replays;
  enqueue(stream, [work = graphs_.at(graph), done = std::size_t{0}]() mutable {
    for (; done < work.size(); ++done) work[done]();
  });
}

void EmulatedApi::destroy_graph(GraphHandle graph) {
  auto lock = enter();
  graphs_.erase(graph);
}

void EmulatedApi::push_range(const char* name) noexcept {
  Lock lock(mutex_);
  ranges_.emplace_back(name);
  ++open_ranges_;
}

void EmulatedApi::pop_range() noexcept {
  Lock lock(mutex_);
  --open_ranges_;
}

std::vector<std::string> EmulatedApi::take_ranges() {
  Lock lock(mutex_);
  return std::exchange(ranges_, {});
}

int EmulatedApi::open_ranges() const {
  Lock lock(mutex_);
  return open_ranges_;
}

}  // namespace belfry::cuda
