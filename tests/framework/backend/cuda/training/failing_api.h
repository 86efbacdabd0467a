#pragma once
// GPUs, emulated or real, whose requests can be refused.

#include <map>
#include <mutex>
#include <ostream>
#include <string>

#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// The resource of which there may be too little.
enum class Scarce { memory, pinned, handles };
std::string to_string(Scarce kind);
inline void PrintTo(Scarce kind, std::ostream* out) { *out << to_string(kind); }

/// Passes every call on; any request for memory, pinned memory or a handle (pools, streams, events,
/// graphs) can be refused, as CUDA does when memory is exhausted. Counts what was given and not
/// taken back. From any thread.
class FailingApi final : public Api {
 public:
  explicit FailingApi(Api& api) : api_(api) {}

  /// After `granted` more of this kind one is refused, and only that one.
  void refuse_one_of(Scarce kind, int granted);
  /// Refuses none from now on; returns whether the last refuse_one_of() came to it.
  bool stop_refusing();
  /// The number of objects that exist, by name: {"stream", 2}, ...; no entry where there are none.
  std::map<std::string, int> alive() const;

  int device_count() noexcept override { return api_.device_count(); }
  std::string why_none() override { return api_.why_none(); }
  Properties properties(int device) override { return api_.properties(device); }
  void use(int device) override { api_.use(device); }
  void synchronize_device() override { api_.synchronize_device(); }

  PoolHandle create_pool(int device) override;
  void destroy_pool(PoolHandle pool) override;
  bool open_pool(PoolHandle pool, int owner, int other) override {
    return api_.open_pool(pool, owner, other);
  }
  void* allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) override;
  void free(void* memory, StreamHandle stream) override;
  void* allocate_host(std::size_t bytes) override;
  void free_host(void* memory) override;
  bool is_pinned(const void* memory) override { return api_.is_pinned(memory); }

  StreamHandle create_stream() override;
  void destroy_stream(StreamHandle stream) override;
  void synchronize(StreamHandle stream) override { api_.synchronize(stream); }
  void copy(void* to, const void* from, std::size_t bytes, Direction direction,
            StreamHandle stream) override {
    api_.copy(to, from, bytes, direction, stream);
  }
  void launch(const KernelCall& call, StreamHandle stream) override { api_.launch(call, stream); }

  EventHandle create_event(bool timed) override;
  void destroy_event(EventHandle event) override;
  void record(EventHandle event, StreamHandle stream) override { api_.record(event, stream); }
  void wait(StreamHandle stream, EventHandle event) override { api_.wait(stream, event); }
  bool done(EventHandle event) override { return api_.done(event); }
  void synchronize(EventHandle event) override { api_.synchronize(event); }
  double seconds_between(EventHandle first, EventHandle second) override {
    return api_.seconds_between(first, second);
  }

  void begin_capture(StreamHandle stream) override { api_.begin_capture(stream); }
  GraphHandle end_capture(StreamHandle stream) override;
  void replay(GraphHandle graph, StreamHandle stream) override { api_.replay(graph, stream); }
  void destroy_graph(GraphHandle graph) override;

  void push_range(const char* name) noexcept override { api_.push_range(name); }
  void pop_range() noexcept override { api_.pop_range(); }

 private:
  bool refused(Scarce kind);
  void refuse_handle(const char* name);
  void count(const char* name, int change);

  Api& api_;
  mutable std::mutex mutex_;  // guards the rest
  Scarce kind_ = Scarce::memory;
  int granted_ = -1;  // negative: no limit
  bool refused_ = false;
  std::map<std::string, int> alive_;
};

}  // namespace belfry::cuda
