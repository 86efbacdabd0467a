#pragma once
// The calls of the CUDA runtime that the device layer makes. They are an interface, so that tests
// can count and order them where there is no GPU. Internal to backend/cuda.

#include <cstddef>
#include <cstdint>
#include <string>

#include "belfry/framework/backend/cuda/launch.h"

struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUgraphExec_st;

namespace belfry::cuda {

/// CUDA's own pointers: cudaStream_t and so on.
using StreamHandle = ::CUstream_st*;
using EventHandle = ::CUevent_st*;
using PoolHandle = ::CUmemPoolHandle_st*;
using GraphHandle = ::CUgraphExec_st*;

struct Properties {
  std::string name;          ///< "NVIDIA H200"
  std::int64_t memory = 0;   ///< bytes, in all
  std::int64_t free = 0;     ///< bytes that nobody uses now
  int major = 0, minor = 0;  ///< compute capability, 9.0 of an H100; 0: not known, as all below
  int multiprocessors = 0;
  double clock_hz = 0;         ///< of the multiprocessors, at most
  double memory_clock_hz = 0;  ///< two transfers a cycle
  int memory_bus_bits = 0;
};

enum class Direction : std::uint8_t { to_device, to_host, on_device };

/// Every call but those that cannot throw is an Error when CUDA refuses it, with CUDA's name for
/// the reason. Work is enqueued on the current device of the calling thread.
class Api {
 public:
  virtual ~Api() = default;

  virtual int device_count() noexcept = 0;        ///< 0 where there is no GPU or no driver
  virtual std::string why_none() = 0;             ///< if there are none: CUDA's reason
  virtual Properties properties(int device) = 0;  ///< of one that becomes the current device
  virtual void use(int device) = 0;               ///< becomes the calling thread's current one
  /// The host waits for everything on the current device. While a stream of it captures, in any
  /// thread, it is refused, and the capture is spoilt.
  virtual void synchronize_device() = 0;

  /// Plain memory of a device, which grows as it is asked for and keeps what is freed.
  virtual PoolHandle create_pool(int device) = 0;
  virtual void destroy_pool(PoolHandle pool) = 0;  ///< gives all of it back
  /// Lets another device use the memory of a pool; false: CUDA says that it cannot.
  virtual bool open_pool(PoolHandle pool, int owner, int other) = 0;
  /// Null when the device has no more.
  virtual void* allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) = 0;
  virtual void free(void* memory, StreamHandle stream) = 0;
  /// Pinned memory, at the same address for the host and for every GPU.
  virtual void* allocate_host(std::size_t bytes) = 0;  ///< null when there is no more
  virtual void free_host(void* memory) = 0;
  /// Whether this is an address in memory of the host that somebody pinned.
  virtual bool is_pinned(const void* memory) = 0;

  virtual StreamHandle create_stream() = 0;  ///< does not wait for the default stream
  virtual void destroy_stream(StreamHandle stream) = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, Direction direction,
                    StreamHandle stream) = 0;
  virtual void launch(const KernelCall& call, StreamHandle stream) = 0;

  virtual EventHandle create_event(bool timed) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, EventHandle event) = 0;
  virtual bool done(EventHandle event) = 0;
  virtual void synchronize(EventHandle event) = 0;
  virtual double seconds_between(EventHandle first, EventHandle second) = 0;  ///< both timed

  virtual void begin_capture(StreamHandle stream) = 0;
  /// Null where another call has spoilt the capture; work that was enqueued since was refused.
  virtual GraphHandle end_capture(StreamHandle stream) = 0;
  virtual void replay(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) = 0;

  /// A range of the calling thread's work, named for profilers (NVTX).
  virtual void push_range(const char* name) noexcept = 0;
  virtual void pop_range() noexcept = 0;
};

}  // namespace belfry::cuda
