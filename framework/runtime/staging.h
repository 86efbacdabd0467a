#pragma once
// The values that a step takes from the host and gives back, on a device that runs behind the host.
// Internal to runtime/.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

/// Buffers of a staged plan, two steps deep: while the device runs one step, the host prepares the
/// next and its inputs travel on a stream of their own.
///
///   host:    pinned buffer 0 | 1 --upload stream--> arriving --compute stream--> inputs, fault = 0
///            pinned arrays     --upload stream--^
///   compute stream: fault, results --> pinned buffer 0 | 1, read by the host when the step is
///   collected
///
/// Used by one thread at a time.
class Staging {
 public:
  /// Allocates. Error: the memory does not suffice.
  Staging(Device& device, const Plan& plan);
  /// Waits for the device.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Device addresses of input and output number i, the same in every step.
  void* input(std::size_t i) const { return memory_.data() + input_at_[i]; }
  void* result(std::size_t i) const { return results() + result_at_[i]; }
  /// A word in which the step's kernels find 0, and may say that data are bad.
  std::uint64_t* fault() const {
    return reinterpret_cast<std::uint64_t*>(memory_.data() + input_bytes_);
  }

  /// The next step's inputs may be set, number i to what `value` is now. Two steps may be under
  /// way; one that did not come to its download() is begun anew.
  void begin_step();
  void set_input(std::size_t i, const void* value, Bytes size);
  /// An array in pinned memory stays where it is and travels from there: a handle is kept until the
  /// step is collected, or begun anew.
  void set_input(std::size_t i, const Array& value);
  /// All are set. What is enqueued on `compute` from now on finds them at input(i).
  void upload(Stream& compute);
  /// The step is enqueued, its outputs are at result(i).
  void download(Stream& compute);

  /// Waits for all that is enqueued on `compute`, in or after a step. Error: its kernels found bad
  /// data. No step is under way.
  void check(Stream& compute);

  int under_way() const { return enqueued_ - collected_; }
  /// Waits for the oldest step under way and copies its outputs. Returns its seconds on the device.
  /// `check` is called while the host waits. Error: the step's kernels found bad data.
  double collect(std::vector<Array>& outputs, const std::function<void()>& check);

 private:
  struct StepBuffers {
    std::shared_ptr<std::byte> inputs, results;  // pinned; before the results, the fault
    std::vector<Array> arrays;                   // by input: those that travel by themselves
    std::unique_ptr<Event> uploaded, started, finished;
  };
  std::byte* results() const { return memory_.data() + input_bytes_ + staged_fault_bytes; }
  StepBuffers& buffers() { return buffers_[enqueued_ % 2]; }

  Device& device_;
  std::vector<std::int64_t> input_at_, result_at_;  // and where the last input ends
  std::int64_t input_bytes_ = 0, result_bytes_ = 0;
  DeviceMemory memory_;    // inputs, fault, results
  DeviceMemory arriving_;  // inputs, and a 0 for the fault
  std::unique_ptr<Stream> uploads_;
  std::unique_ptr<Event> taken_;  // what had arrived
  std::array<StepBuffers, 2> buffers_;
  std::int64_t enqueued_ = 0, collected_ = 0;  // steps
};

}  // namespace belfry
