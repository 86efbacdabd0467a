#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/shared_memory.h"
#include "belfry/framework/backend/cpu/waiting.h"
#include "belfry/framework/backend/cpu/widened_kernel.h"
#include "belfry/framework/base/host_memory.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::cpu {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// Below this much work a second thread costs more than it saves: waking a team takes some 5 us, in
// which one core does about 1e6 floating-point operations.
constexpr double flops_worth_sharing = 4e6;

using Factories = std::map<const OpDef*, std::vector<KernelFactory>>;

Factories& factories() {
  static Factories instance;
  return instance;
}

class CpuEvent final : public Event {
 public:
  bool done() const override { return true; }
  void synchronize() override {}
};

// Runs everything at once, on the calling thread and its team.
class CpuStream final : public Stream {
 public:
  void activate(int threads) override {
    omp_set_num_threads(threads);
    choose_waiting(threads);
  }
  void copy_to_device(void* to, const void* from, Bytes size) override { copy(to, from, size); }
  void copy_to_host(void* to, const void* from, Bytes size) override { copy(to, from, size); }
  void copy_on_device(void* to, const void* from, Bytes size) override { copy(to, from, size); }
  void record(Event&) override {}
  void wait(const Event&) override {}
  void synchronize() override {}

 private:
  static void copy(void* to, const void* from, Bytes size) {
    if (size.count > 0) std::memcpy(to, from, size.count);
  }
};

/// Null where there is no memory left. What spans several huge pages is made of these where the
/// system may (README, "Huge pages").
void* allocate_aligned(Bytes size) {
  std::size_t bytes = std::max<std::int64_t>(size.count, 1);
  std::size_t unit = bytes < 4 * huge_page ? alignment : huge_page;
  std::size_t whole = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, whole);
#ifdef MADV_HUGEPAGE
  if (memory && unit == huge_page) madvise(memory, whole, MADV_HUGEPAGE);
#endif
  return memory;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int index) : CpuDevice(index, host_memory().all) {}

  std::string name() const override { return "cpu:" + text(index_); }
  std::string description() const override {
    int cores = omp_get_num_procs();
    return concat(name(), ", ", cores, cores == 1 ? " core" : " cores");
  }
  Bytes available_memory() const override { return host_memory().available; }
  bool host_accessible() const override { return true; }
  std::shared_ptr<void> allocate_host(Bytes size) override {
    void* memory = allocate_aligned(size);
    if (!memory)
      throw OutOfMemory(concat("host memory: could not allocate ", bytes_text(size.count)));
    return {memory, std::free};
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event(bool) override { return std::make_unique<CpuEvent>(); }
  int threads_for(double flops, int limit) const override {
    return flops < flops_worth_sharing ? 1 : limit > 0 ? limit : omp_get_num_procs();
  }
  std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions& options) override {
    return cpu::find_kernel(node, options);
  }
  std::shared_ptr<Communicator> make_communicator(std::span<Device* const> devices,
                                                  const CommunicatorOptions& options) override {
    std::vector<std::string> names;
    for (const Device* device : devices) names.push_back(device->name());
    return make_shared_memory_communicator(std::move(names), options);
  }
  bool reaches(const Device& other) const override { return other.host_accessible(); }

 protected:
  void* allocate_raw(Bytes size) override { return allocate_aligned(size); }
  void free_raw(void* data, Bytes) noexcept override { std::free(data); }

 private:
  CpuDevice(int index, Bytes memory) : Device(memory, memory), index_(index) {}

  int index_;
};

const DeviceRegistration registration(
    "cpu", [](int index) -> std::shared_ptr<Device> { return std::make_shared<CpuDevice>(index); },
    [] { return DevicesPresent{.count = 1, .why_none = {}}; });

}  // namespace

KernelRegistration::KernelRegistration(const OpDef& op, KernelFactory factory) {
  factories()[&op].push_back(std::move(factory));
}

std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions& options) {
  auto found = factories().find(&node.op());
  if (found == factories().end()) return nullptr;
  for (const KernelFactory& factory : found->second)
    if (auto kernel = factory(node, options)) return kernel;
  return make_widened_kernel(node, options);
}

}  // namespace belfry::cpu
