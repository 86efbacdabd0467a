#pragma once
// Bad data that kernels find: a label out of range, a division by zero. Internal to backend/cuda.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::cuda {

/// The data with which a kernel function reports that the element at `position` is bad. A value;
/// copied to the GPU as an argument.
struct FaultSite {
  std::uint64_t* word = nullptr;
  std::uint64_t kernel = 0;  ///< in the upper 24 bits
};
constexpr int fault_position_bits = 40;

/// The reports of bad data by the kernels of one GPU. A kernel writes its report to a word of
/// whoever runs it, so that each hears of its own; one of several faults in a step is kept. From
/// any thread.
class Faults : public std::enable_shared_from_this<Faults> {
 public:
  /// Throws Error with what a kernel has written to its word, if that is not 0.
  void check(std::uint64_t word) const;

  /// A kernel's place in it, for as long as the kernel lives.
  class Reporter {
   public:
    Reporter(std::shared_ptr<Faults> faults, std::uint64_t kernel)
        : faults_(std::move(faults)), kernel_(kernel) {}
    ~Reporter();
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;
    /// For one run of the kernel.
    FaultSite site(const KernelArguments& arguments) const {
      return {arguments.fault, kernel_ << fault_position_bits};
    }

   private:
    std::shared_ptr<Faults> faults_;
    std::uint64_t kernel_;
  };
  /// `before` and `behind` stand around the position in the message: "gather: index ", " is not in
  /// [0, 10)".
  std::shared_ptr<Reporter> add(std::string before, std::string behind);

 private:
  struct Message {
    std::string before, behind;
  };
  mutable Mutex mutex_;
  std::map<std::uint64_t, Message> messages_ BELFRY_GUARDED_BY(mutex_);
  std::uint64_t added_ BELFRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace belfry::cuda
