#include "belfry/framework/backend/cuda/toolkit/runtime_api.h"

#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "belfry/framework/backend/cuda/device.h"
#include "belfry/framework/backend/cuda/toolkit/check.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/fields.h"

namespace belfry::cuda {

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // or the next call that looks would find it again
  const char* remedy = code == cudaErrorNoKernelImageForDevice
                           ? "; name its architecture in CMAKE_CUDA_ARCHITECTURES and build again"
                           : "";
  fail(call, ": ", cudaGetErrorName(code), ": ", cudaGetErrorString(code), remedy);
}

namespace {

// Null for want of memory, which the caller explains.
void* memory_or_null(void* memory, cudaError_t code, const char* call) {
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(code, call);
  return memory;
}

cudaMemcpyKind kind_of(Direction direction) {
  switch (direction) {
    case Direction::to_device:
      return cudaMemcpyHostToDevice;
    case Direction::to_host:
      return cudaMemcpyDeviceToHost;
    case Direction::on_device:
      return cudaMemcpyDeviceToDevice;
  }
  no_such_value(direction);
}

class RuntimeApi final : public Api {
 public:
  int device_count() noexcept override {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  }
  std::string why_none() override {
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    return code == cudaSuccess && count == 0 ? "it lists none" : cudaGetErrorString(code);
  }
  Properties properties(int device) override {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
    check(cudaSetDevice(device), "cudaSetDevice");
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    auto attribute = [&](cudaDeviceAttr name) {
      int value = 0;
      check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
      return value;
    };
    constexpr double khz = 1e3;
    return {.name = p.name,
            .memory = static_cast<std::int64_t>(p.totalGlobalMem),
            .free = static_cast<std::int64_t>(free),
            .major = p.major,
            .minor = p.minor,
            .multiprocessors = p.multiProcessorCount,
            .clock_hz = khz * attribute(cudaDevAttrClockRate),
            .memory_clock_hz = khz * attribute(cudaDevAttrMemoryClockRate),
            .memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth)};
  }
  void use(int device) override { check(cudaSetDevice(device), "cudaSetDevice"); }
  void synchronize_device() override { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  PoolHandle create_pool(int device) override {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
    std::uint64_t all = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
          "cudaMemPoolSetAttribute");
    return pool;
  }
  void destroy_pool(PoolHandle pool) override {
    check(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
  }
  bool open_pool(PoolHandle pool, int owner, int other) override {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, other, owner), "cudaDeviceCanAccessPeer");
    if (can == 0) return false;
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, other};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    if (cudaMemPoolSetAccess(pool, &access, 1) == cudaSuccess) return true;
    cudaGetLastError();
    // NCCL looks only at whether the GPUs could. It reads this once, for the first communicator.
    setenv("NCCL_P2P_DIRECT_DISABLE", "1", /*overwrite=*/0);
    return false;
  }
  void* allocate(PoolHandle pool, std::size_t bytes, StreamHandle stream) override {
    void* memory = nullptr;
    cudaError_t code = cudaMallocFromPoolAsync(&memory, bytes, pool, stream);
    return memory_or_null(memory, code, "cudaMallocFromPoolAsync");
  }
  void free(void* memory, StreamHandle stream) override {
    check(cudaFreeAsync(memory, stream), "cudaFreeAsync");
  }
  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    return memory_or_null(memory, code, "cudaHostAlloc");
  }
  void free_host(void* memory) override { check(cudaFreeHost(memory), "cudaFreeHost"); }
  // Memory that CUDA does not know is no error.
  bool is_pinned(const void* memory) override {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeHost;
  }

  StreamHandle create_stream() override {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream;
  }
  void destroy_stream(StreamHandle stream) override {
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  }
  void synchronize(StreamHandle stream) override {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  void copy(void* to, const void* from, std::size_t bytes, Direction direction,
            StreamHandle stream) override {
    check(cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream), "cudaMemcpyAsync");
  }
  void launch(const KernelCall& call, StreamHandle stream) override {
    ensure(call.shape.blocks <= std::numeric_limits<std::int32_t>::max(), "a kernel of ",
           call.shape.blocks, " blocks");
    check(cudaLaunchKernel(call.function, dim3(call.shape.blocks), dim3(call.shape.threads),
                           call.arguments, 0, stream),
          "cudaLaunchKernel");
  }

  EventHandle create_event(bool timed) override {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return event;
  }
  void destroy_event(EventHandle event) override {
    check(cudaEventDestroy(event), "cudaEventDestroy");
  }
  void record(EventHandle event, StreamHandle stream) override {
    check(cudaEventRecord(event, stream), "cudaEventRecord");
  }
  void wait(StreamHandle stream, EventHandle event) override {
    check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
  }
  bool done(EventHandle event) override {
    cudaError_t code = cudaEventQuery(event);
    if (code == cudaErrorNotReady) return false;
    check(code, "cudaEventQuery");
    return true;
  }
  void synchronize(EventHandle event) override {
    check(cudaEventSynchronize(event), "cudaEventSynchronize");
  }
  double seconds_between(EventHandle first, EventHandle second) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first, second), "cudaEventElapsedTime");
    return milliseconds / 1e3;
  }

  // Calls of other threads that a capture does not allow may go on meanwhile.
  void begin_capture(StreamHandle stream) override {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  GraphHandle end_capture(StreamHandle stream) override {
    cudaGraph_t graph = nullptr;
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (ended == cudaErrorStreamCaptureInvalidated) {
      cudaGetLastError();
      return nullptr;
    }
    check(ended, "cudaStreamEndCapture");
    cudaGraphExec_t step = nullptr;
    cudaError_t code = cudaGraphInstantiate(&step, graph, 0);
    cudaGraphDestroy(graph);
    check(code, "cudaGraphInstantiate");
    return step;
  }
  void replay(GraphHandle graph, StreamHandle stream) override {
    check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
  }
  void destroy_graph(GraphHandle graph) override {
    check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  }

  void push_range(const char* name) noexcept override { nvtxRangePushA(name); }
  void pop_range() noexcept override { nvtxRangePop(); }
};

const DeviceRegistration registration(
    "cuda", [](int index) { return make_device(runtime_api(), index); },
    [] { return devices_present(runtime_api()); });

}  // namespace

Api& runtime_api() {
  static RuntimeApi instance;
  return instance;
}

}  // namespace belfry::cuda
