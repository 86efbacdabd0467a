#pragma once
// CUDA's runtime without a GPU: it writes down what is called, and does the copies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "belfry/framework/backend/cuda/api.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/text.h"

namespace belfry::cuda {

/// Two GPUs of 1000 bytes each. Handles are numbered: pool 1, stream 2, ... in the order in which
/// they are made. Calls look like "record event 4 on stream 2".
class RecordingApi final : public Api {
 public:
  std::vector<std::string> calls;
  std::set<std::string> alive;  ///< handles and memory that exist
  int gpus = 2;
  std::int64_t free_bytes = 1000;
  bool has_streams = true;

  std::vector<std::string> take_calls() { return std::exchange(calls, {}); }

  int device_count() noexcept override { return gpus; }
  std::string why_none() override { return "no driver"; }
  Properties properties(int) override { return {"Test GPU", 1000, free_bytes}; }
  void use(int device) override { say("use ", device); }
  void synchronize_device() override { say("synchronize device"); }

  PoolHandle create_pool(int) override { return make<PoolHandle>("pool"); }
  void destroy_pool(PoolHandle pool) override { destroy("pool", pool); }
  bool open_pool(PoolHandle pool, int owner, int other) override {
    say("open ", name("pool", pool), " of ", owner, " to ", other);
    return true;
  }
  void* allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) override {
    say("allocate ", bytes, " of ", name("pool", pool), " on ", name("stream", stream));
    auto size = static_cast<std::int64_t>(bytes);
    if (size > free_bytes) return nullptr;
    free_bytes -= size;
    void* memory = std::malloc(bytes);
    sizes_[memory] = size;
    alive.insert(concat("memory of ", bytes));
    return memory;
  }
  void free(void* memory, StreamHandle stream) override {
    say("free ", sizes_.at(memory), " on ", name("stream", stream));
    alive.erase(concat("memory of ", sizes_.at(memory)));
    free_bytes += sizes_.at(memory);
    std::free(memory);
  }
  void* allocate_host(std::size_t bytes) override {
    say("allocate ", bytes, " of the host");
    void* memory = std::malloc(bytes);
    pinned_[static_cast<std::byte*>(memory)] = bytes;
    return memory;
  }
  bool is_pinned(const void* memory) override {
    auto* at = static_cast<const std::byte*>(memory);
    auto next = pinned_.upper_bound(at);
    return next != pinned_.begin() && at < std::prev(next)->first + std::prev(next)->second;
  }
  void free_host(void* memory) override {
    say("free host");
    pinned_.erase(static_cast<std::byte*>(memory));
    std::free(memory);
  }

  StreamHandle create_stream() override {
    require(has_streams, "there are no streams");
    return make<StreamHandle>("stream");
  }
  void destroy_stream(StreamHandle stream) override { destroy("stream", stream); }
  void synchronize(StreamHandle stream) override { say("synchronize ", name("stream", stream)); }
  void copy(void* to, const void* from, std::size_t bytes, Direction direction,
            StreamHandle stream) override {
    const char* names[] = {"to device", "to host", "on device"};
    say("copy ", bytes, " ", names[static_cast<int>(direction)], " on ", name("stream", stream));
    std::memcpy(to, from, bytes);
  }

  EventHandle create_event(bool) override { return make<EventHandle>("event"); }
  void destroy_event(EventHandle event) override { destroy("event", event); }
  void record(EventHandle event, StreamHandle stream) override {
    say("record ", name("event", event), " on ", name("stream", stream));
  }
  void wait(StreamHandle stream, EventHandle event) override {
    say(name("stream", stream), " waits for ", name("event", event));
  }
  bool done(EventHandle) override { return true; }
  double seconds_between(EventHandle, EventHandle) override { return 0.25; }
  void synchronize(EventHandle event) override { say("synchronize ", name("event", event)); }

  void begin_capture(StreamHandle stream) override { say("capture on ", name("stream", stream)); }
  GraphHandle end_capture(StreamHandle stream) override {
    say("end of capture on ", name("stream", stream));
    return make<GraphHandle>("graph");
  }
  void launch(const KernelCall& call, StreamHandle stream) override {
    say("launch ", call.shape.blocks, " blocks of ", call.shape.threads, " on ",
        name("stream", stream));
  }
  void replay(GraphHandle graph, StreamHandle stream) override {
    say("launch ", name("graph", graph), " on ", name("stream", stream));
  }
  void destroy_graph(GraphHandle graph) override { destroy("graph", graph); }

  void push_range(const char* name) noexcept override { say("range ", name); }
  void pop_range() noexcept override { say("end of range"); }

 private:
  template <class... Args>
  void say(const Args&... args) {
    calls.push_back(concat(args...));
  }
  template <class Handle>
  static std::string name(const char* kind, Handle handle) {
    return concat(kind, " ", reinterpret_cast<std::uintptr_t>(handle));
  }
  template <class Handle>
  Handle make(const char* kind) {
    auto handle = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(++made_));
    say("create ", name(kind, handle));
    alive.insert(name(kind, handle));
    return handle;
  }
  template <class Handle>
  void destroy(const char* kind, Handle handle) {
    say("destroy ", name(kind, handle));
    alive.erase(name(kind, handle));
  }

  int made_ = 0;
  std::map<void*, std::int64_t> sizes_;
  std::map<const std::byte*, std::size_t> pinned_;
};

}  // namespace belfry::cuda
