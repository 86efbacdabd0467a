#pragma once
// The whole contract of a device: memory, streams, events, kernels, collectives. To add one,
// implement Device in a folder of its own and register it; nothing above this header knows which
// devices exist.
//
// The interface is that of an asynchronous device. What a caller enqueues on a Stream runs later,
// in order, without the host waiting; addresses stay the same from step to step, so a whole step
// may be captured once and replayed; they change where a larger plan moves the arena, and then the
// step is captured anew. A synchronous device (the CPU) runs at once what is
// enqueued.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/base/units.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

class Device;

/// A piece of a device's memory, given back on destruction. Aligned to 64 bytes (256 on a GPU).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device& device, void* data, Bytes size)
      : device_(&device), data_(data), size_(size) {}
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceMemory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  Bytes size() const { return size_; }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device* device_ = nullptr;
  void* data_ = nullptr;
  Bytes size_{0};
};

/// A point in a stream's work that another stream or the host can wait for.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool done() const = 0;
  virtual void synchronize() = 0;  ///< the host waits
  /// How much later it was done than `earlier`; both are done and were made to be timed. 0 where
  /// nothing runs behind the host.
  virtual double seconds_since(const Event& earlier) const {
    (void)earlier;
    return 0;
  }
};

/// A step captured as one launch (a CUDA graph).
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

/// A queue of work. Used by one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Makes the calling thread ready to enqueue: the current device on a GPU, the size of the thread
  /// team on a CPU. `threads` is what Device::threads_for() said when the plan was compiled.
  virtual void activate(int threads) = 0;

  /// Enqueues a copy. Host memory that is not pinned may make the host wait.
  virtual void copy_to_device(void* to, const void* from, Bytes size) = 0;
  virtual void copy_to_host(void* to, const void* from, Bytes size) = 0;
  virtual void copy_on_device(void* to, const void* from, Bytes size) = 0;

  virtual void record(Event& event) = 0;      ///< `event` is done when all enqueued so far is
  virtual void wait(const Event& event) = 0;  ///< later work waits for it; the host does not
  /// The host waits for all enqueued work.
  virtual void synchronize() = 0;

  /// Whether work enqueued between begin_capture() and end_capture() is recorded instead of run.
  /// Calls on a stream that cannot are an Error (ours). end_capture() returns null where a call of
  /// another thread has spoilt the capture; what was enqueued since then was an Error.
  virtual bool can_capture() const { return false; }
  virtual void begin_capture();
  virtual std::unique_ptr<CapturedWork> end_capture();
  virtual void replay(CapturedWork& work);

  /// Marks what the calling thread enqueues until the matching pop_range(), for the device's
  /// profiler (Nsight Systems shows NVTX ranges with their kernels). Ranges nest; `name` is read
  /// before the call returns. Where there is no such profiler they do nothing.
  virtual void push_range(const char* name) noexcept { (void)name; }
  virtual void pop_range() noexcept {}
};

/// Addresses of a kernel's operands, in the order of the node's inputs and outputs.
struct KernelArguments {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;
  /// A word in memory of an asynchronous device, 0 when the step begins, where kernels write that
  /// they found bad data: see Device::throw_fault().
  std::uint64_t* fault = nullptr;

  /// The addresses as those of elements of type T, which is not checked.
  template <class T>
  const T* input(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* output(std::size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
  template <class T>
  T* scratch() const {
    return static_cast<T*>(workspace);
  }
};

class Kernel;

/// An input that a kernel wants in a layout of its own (packed weights). The compiler runs `pack`
/// once a step for each distinct (tensor, layout) and hands the result to every kernel that asked
/// for it.
struct PackedInput {
  int input = 0;                 ///< index among the node's inputs
  std::string layout;            ///< equal texts mean equal layouts
  Bytes size{0};                 ///< of the packed form
  std::shared_ptr<Kernel> pack;  ///< one input, one output
  /// The same of the f32 that a cast reads whose result is the input: where nothing but packs wants
  /// the result, the cast is spared. Null: there is none.
  std::shared_ptr<Kernel> pack_uncast = {};
};

/// Output 0 of a kernel that it leaves in a layout of its own. The compiler runs `unpack` before
/// anything reads the node's output, with other outputs at once where it can.
struct PackedOutput {
  Bytes size{0};                               ///< of what the kernel leaves
  std::shared_ptr<Kernel> unpack;              ///< one input, one output: the node's
  std::shared_ptr<Kernel> unpack_to_f32 = {};  ///< the node's, cast to f32; null: there is none
};

/// A node's computation, prepared for its shapes on one device: everything that can be decided
/// beforehand is decided in the constructor.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Bytes workspace() const { return Bytes(0); }  ///< scratch memory during run()
  virtual std::vector<PackedInput> packed_inputs() const { return {}; }
  virtual std::optional<PackedOutput> packed_output() const { return std::nullopt; }
  /// How it computes, for reports: "onednn", "simd", "winograd", "reference"; "onednn f32"
  /// where operands of 16 bits are converted to f32 for it.
  virtual std::string_view implementation() const = 0;
  /// Enqueues the computation. Allocates nothing, does not make the host wait. Outputs overlap
  /// inputs only where OpDef allows it. Bad data (a label out of range) is an Error, thrown here by
  /// a synchronous device; an asynchronous one writes to `fault`.
  virtual void run(const KernelArguments& arguments, Stream& stream) = 0;
};

/// The requirements of a plan on its kernels.
struct KernelOptions {
  int threads = 1;   ///< of the host that they run on
  bool tf32 = true;  ///< whether products of f32 may round their factors to 10 bits (GPUs)
  /// Whether convolutions are computed as the sums of products that define them. If false, CPUs may
  /// use Winograd's method, which multiplies less and rounds differently.
  bool exact_convolutions = false;
};

/// A device does no more than this in a second: copies and large products get there.
struct DeviceLimits {
  double bytes = 0;       ///< read and written
  double flops = 0;       ///< of products of f32
  double flops_tf32 = 0;  ///< of products of f32 whose factors are rounded to 10 bits
  double flops_16 = 0;    ///< of products of 16-bit floats
};

/// One device. Thread rules: allocation and kernel look-up from any thread; streams as above.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;         ///< "cpu:0", "cuda:1"
  virtual std::string description() const = 0;  ///< for the start-up line
  /// Whether the host may read and write its memory, so that reference kernels run there.
  virtual bool host_accessible() const = 0;
  /// Whether what is enqueued runs while the host goes on.
  virtual bool asynchronous() const { return false; }

  /// Memory of at least `size` bytes. OutOfMemory when the limit or the device is exhausted: it
  /// names `what`, the bytes asked for, in use and allowed.
  DeviceMemory allocate(Bytes size, std::string_view what);
  Bytes memory_in_use() const;
  Bytes memory_limit() const;
  /// Bytes that allocate() may hand out in all. Default: what the device has, or what of
  /// that was free when the device was made.
  void set_memory_limit(Bytes limit);
  /// The device has so much in all; a CPU has what its machine has, or a control group allows.
  Bytes memory() const { return memory_; }
  /// Without a limit so much could be handed out now, beside what other programs hold. A CPU asks
  /// the system; other devices know what was free when they were made, less what is in use.
  virtual Bytes available_memory() const;

  /// Host memory from which copies run asynchronously (pinned); plain memory where that means
  /// nothing.
  virtual std::shared_ptr<void> allocate_host(Bytes size) = 0;
  /// Whether host memory at this address is pinned, by allocate_host() or otherwise: a copy from
  /// there reads it later.
  virtual bool is_pinned(const void* memory) const {
    (void)memory;
    return false;
  }

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event(bool timed = false) = 0;

  /// Host threads that a plan with this much work should run on, at most `limit` (0: one per core);
  /// 1 where the notion means nothing.
  virtual int threads_for(double flops, int limit) const {
    (void)flops, (void)limit;
    return 1;
  }
  /// By which `explain()` says how long each kernel takes at least; none where they are not known.
  virtual std::optional<DeviceLimits> limits() const { return std::nullopt; }
  /// The fast kernel for a node; null when there is none for this op, these types or its options.
  /// The compiler then takes the reference kernel if host_accessible(), or reports op, scope path
  /// and device.
  virtual std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions& options) = 0;
  /// A kernel that does what these do, each of one input and one output and none of which reads
  /// what another one writes, in fewer launches: its input i and output i are those of kernel i.
  /// Null where there is none.
  virtual std::shared_ptr<Kernel> together(std::span<const std::shared_ptr<Kernel>> kernels) {
    (void)kernels;
    return nullptr;
  }
  /// Throws the Error that a kernel of this device, which is still there, has written to
  /// KernelArguments::fault; does nothing for 0.
  virtual void throw_fault(std::uint64_t word) const { (void)word; }

  /// A communicator over these devices, all of this one's kind: member i is device i.
  virtual std::shared_ptr<Communicator> make_communicator(std::span<Device* const> devices,
                                                          const CommunicatorOptions& options) = 0;
  /// Whether kernels of this device may use memory of `other` directly.
  virtual bool reaches(const Device& other) const { return this == &other; }

 protected:
  virtual void* allocate_raw(Bytes size) = 0;  ///< null when the device has no more
  virtual void free_raw(void* data, Bytes size) noexcept = 0;
  /// A device of `memory` bytes, of which `limit` may be handed out.
  Device(Bytes limit, Bytes memory) : memory_(memory), at_first_(limit), limit_(limit) {}

 private:
  friend class DeviceMemory;
  Bytes memory_, at_first_;
  mutable Mutex mutex_;
  Bytes in_use_ BELFRY_GUARDED_BY(mutex_){0};
  Bytes limit_ BELFRY_GUARDED_BY(mutex_);
};

/// The reference kernel of a node, for host-accessible devices. Error (ours) when its op has none.
std::unique_ptr<Kernel> make_reference_kernel(const Node& node);

/// How many devices of a kind this machine has.
struct DevicesPresent {
  int count = 0;
  std::string why_none;  ///< if there are none: "no CUDA-capable device is detected"
};

/// Makes a kind of device known under a name; called by static objects of the device's folder.
using DeviceFactory = std::function<std::shared_ptr<Device>(int index)>;
struct DeviceRegistration {
  DeviceRegistration(std::string kind, DeviceFactory factory,
                     std::function<DevicesPresent()> present);
};

/// The kinds that this build knows, in order of their names.
std::vector<std::string> device_kinds();
/// None of a kind that this build does not know.
DevicesPresent devices_present(std::string_view kind);

/// The device of this name, "cpu", "cpu:0", "cuda:1". One object a name while anybody holds it.
/// Error listing the known kinds when there is no such.
std::shared_ptr<Device> find_device(std::string_view name);

}  // namespace belfry
