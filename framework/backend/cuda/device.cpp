#include "belfry/framework/backend/cuda/device.h"

#include <algorithm>
#include <set>
#include <vector>

#include "belfry/framework/backend/cuda/captures.h"
#include "belfry/framework/backend/cuda/communicator.h"
#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/limits.h"
#include "belfry/framework/backend/cuda/quietly.h"
#include "belfry/framework/backend/cuda/stream.h"
#include "belfry/framework/backend/cuda/together.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::cuda {
namespace {

class CudaDevice;

// CUDA has no memory of no bytes.
std::size_t at_least_one(Bytes size) { return std::max<std::int64_t>(1, size.count); }

// The GPUs that are in use, which open their memory to each other.
struct InUse {
  Mutex mutex;
  std::vector<CudaDevice*> devices BELFRY_GUARDED_BY(mutex);
};

InUse& in_use() {
  static InUse instance;
  return instance;
}

struct DestroyPool {
  Api* api = nullptr;
  void operator()(PoolHandle pool) const noexcept {
    quietly([&] { api->destroy_pool(pool); });
  }
};
struct DestroyStream {
  Api* api = nullptr;
  void operator()(StreamHandle stream) const noexcept {
    quietly([&] { api->destroy_stream(stream); });
  }
};

// Memory comes from a pool of this device's own, so that all of it is given back when the device
// goes, and other libraries in the process keep theirs.
class CudaDevice final : public Device {
 public:
  CudaDevice(Api& api, int index, const Properties& properties)
      : Device(Bytes(properties.free), Bytes(properties.memory)),
        api_(api),
        index_(index),
        description_(
            concat(name_of(index), ", ", properties.name, ", ", bytes_text(properties.memory))),
        limits_(limits_of(properties)) {
    api_.use(index_);
    pool_ = {api_.create_pool(index_), {&api_}};
    stream_ = {api_.create_stream(), {&api_}};
    MutexLock lock(in_use().mutex);
    for (CudaDevice* other : in_use().devices) {
      if (&other->api_ != &api_ || other->index_ == index_) continue;
      if (api_.open_pool(other->pool_.get(), other->index_, index_)) reached_.insert(other->index_);
      if (api_.open_pool(pool_.get(), index_, other->index_)) other->reached_.insert(index_);
    }
    in_use().devices.push_back(this);
  }
  ~CudaDevice() override {
    {
      MutexLock lock(in_use().mutex);
      std::erase(in_use().devices, this);
      for (CudaDevice* other : in_use().devices)
        if (&other->api_ == &api_) other->reached_.erase(index_);
    }
    quietly([&] {
      api_.use(index_);
      captures().apart([&] { api_.synchronize_device(); });
    });
  }

  std::string name() const override { return name_of(index_); }
  std::string description() const override { return description_; }
  std::optional<DeviceLimits> limits() const override { return limits_; }
  bool host_accessible() const override { return false; }
  bool asynchronous() const override { return true; }

  std::shared_ptr<void> allocate_host(Bytes size) override {
    api_.use(index_);
    void* memory = api_.allocate_host(at_least_one(size));
    if (!memory)
      throw OutOfMemory(concat("pinned host memory: could not allocate ", bytes_text(size.count)));
    return {memory, [&api = api_](void* p) noexcept { quietly([&] { api.free_host(p); }); }};
  }
  bool is_pinned(const void* memory) const override {
    api_.use(index_);
    return api_.is_pinned(memory);
  }
  bool reaches(const Device& other) const override {
    MutexLock lock(in_use().mutex);
    auto found = std::find(in_use().devices.begin(), in_use().devices.end(), &other);
    return this == &other
           || (found != in_use().devices.end() && reached_.contains((*found)->index_));
  }

  std::unique_ptr<Stream> make_stream() override { return cuda::make_stream(api_, index_); }
  std::unique_ptr<Event> make_event(bool timed) override {
    return cuda::make_event(api_, index_, timed);
  }

  std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions& options) override {
    api_.use(index_);
    return cuda::find_kernel(node, {api_, index_, *faults_}, options);
  }
  std::shared_ptr<Kernel> together(std::span<const std::shared_ptr<Kernel>> kernels) override {
    return cuda::together(kernels);
  }
  void throw_fault(std::uint64_t word) const override { faults_->check(word); }
  std::shared_ptr<Communicator> make_communicator(std::span<Device* const> devices,
                                                  const CommunicatorOptions& options) override {
    std::vector<Member> members;
    for (Device* device : devices)
      members.push_back({device, static_cast<CudaDevice*>(device)->index_});
    return cuda::make_communicator(api_, members, options);
  }

 protected:
  // Usable on every stream at once, and given back when no stream can be using it any more:
  // executables take and give memory as a whole, not in steps.
  void* allocate_raw(Bytes size) override {
    api_.use(index_);
    void* memory = api_.allocate(pool_.get(), at_least_one(size), stream_.get());
    api_.synchronize(stream_.get());
    return memory;
  }
  void free_raw(void* data, Bytes) noexcept override {
    quietly([&] {
      api_.use(index_);
      captures().apart([&] { api_.synchronize_device(); });
      api_.free(data, stream_.get());
    });
  }

 private:
  static std::string name_of(int index) { return "cuda:" + text(index); }

  Api& api_;
  int index_;
  std::string description_;
  std::optional<DeviceLimits> limits_;
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::unique_ptr<CUmemPoolHandle_st, DestroyPool> pool_;
  std::unique_ptr<CUstream_st, DestroyStream> stream_;       // of allocations
  std::set<int> reached_ BELFRY_GUARDED_BY(in_use().mutex);  // GPUs whose memory this one may use
};

}  // namespace

std::shared_ptr<Device> make_device(Api& api, int index) {
  int count = api.device_count();
  require(count > 0, "device: there is no cuda:", index,
          ", as CUDA finds no GPU: ", api.why_none());
  require(index < count, "device: there is no cuda:", index, "; CUDA finds ", count,
          count == 1 ? " GPU, cuda:0" : concat(" GPUs, cuda:0 to cuda:", count - 1));
  return std::make_shared<CudaDevice>(api, index, api.properties(index));
}

DevicesPresent devices_present(Api& api) {
  int count = api.device_count();
  return {.count = count, .why_none = count == 0 ? api.why_none() : std::string()};
}

}  // namespace belfry::cuda
