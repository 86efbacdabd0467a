#include "failing_api.h"

#include "belfry/framework/base/error.h"

namespace belfry::cuda {

std::string to_string(Scarce kind) {
  const char* names[] = {"memory", "pinned", "handles"};
  return names[static_cast<int>(kind)];
}

void FailingApi::refuse_one_of(Scarce kind, int granted) {
  std::lock_guard lock(mutex_);
  kind_ = kind;
  granted_ = granted;
  refused_ = false;
}

bool FailingApi::stop_refusing() {
  std::lock_guard lock(mutex_);
  granted_ = -1;
  return refused_;
}

std::map<std::string, int> FailingApi::alive() const {
  std::lock_guard lock(mutex_);
  auto out = alive_;
  std::erase_if(out, [](const auto& kind) { return kind.second == 0; });
  return out;
}

bool FailingApi::refused(Scarce kind) {
  std::lock_guard lock(mutex_);
  if (kind != kind_ || granted_ < 0 || granted_-- > 0) return false;
  return refused_ = true;
}

void FailingApi::refuse_handle(const char* name) {
  if (refused(Scarce::handles)) fail(name, ": cudaErrorMemoryAllocation: out of memory");
}

void FailingApi::count(const char* name, int change) {
  std::lock_guard lock(mutex_);
  alive_[name] += change;
}

PoolHandle FailingApi::create_pool(int device) {
  refuse_handle("cudaMemPoolCreate");
  PoolHandle pool = api_.create_pool(device);
  count("pool", 1);
  return pool;
}

void FailingApi::destroy_pool(PoolHandle pool) {
  api_.destroy_pool(pool);
  count("pool", -1);
}

void* FailingApi::allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) {
  if (refused(Scarce::memory)) return nullptr;
  void* memory = api_.allocate(pool, bytes, stream);
  if (memory) count("memory", 1);
  return memory;
}

void FailingApi::free(void* memory, StreamHandle stream) {
  api_.free(memory, stream);
  count("memory", -1);
}

void* FailingApi::allocate_host(std::size_t bytes) {
  if (refused(Scarce::pinned)) return nullptr;
  void* memory = api_.allocate_host(bytes);
  if (memory) count("pinned memory", 1);
  return memory;
}

void FailingApi::free_host(void* memory) {
  api_.free_host(memory);
  count("pinned memory", -1);
}

StreamHandle FailingApi::create_stream() {
  refuse_handle("cudaStreamCreateWithFlags");
  StreamHandle stream = api_.create_stream();
  count("stream", 1);
  return stream;
}

void FailingApi::destroy_stream(StreamHandle stream) {
  api_.destroy_stream(stream);
  count("stream", -1);
}

EventHandle FailingApi::create_event(bool timed) {
  refuse_handle("cudaEventCreateWithFlags");
  EventHandle event = api_.create_event(timed);
  count("event", 1);
  return event;
}

void FailingApi::destroy_event(EventHandle event) {
  api_.destroy_event(event);
  count("event", -1);
}

// The capture is ended in any case, as CUDA does when it cannot instantiate the graph.
GraphHandle FailingApi::end_capture(StreamHandle stream) {
  GraphHandle graph = api_.end_capture(stream);
  if (!graph) return nullptr;
  if (refused(Scarce::handles)) {
    api_.destroy_graph(graph);
    fail("cudaGraphInstantiate: cudaErrorMemoryAllocation: out of memory");
  }
  count("graph", 1);
  return graph;
}

void FailingApi::destroy_graph(GraphHandle graph) {
  api_.destroy_graph(graph);
  count("graph", -1);
}

}  // namespace belfry::cuda
