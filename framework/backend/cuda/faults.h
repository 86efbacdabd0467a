#pragma once
// Bad data that kernels find: a label out of range, a division by zero. Internal to backend/cuda.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// What a kernel function needs to say that the element at `position` is bad. A value; copied to
/// the GPU as an argument.
struct FaultSite {
  volatile std::uint64_t* word = nullptr;
  std::uint64_t kernel = 0;  ///< in the upper 24 bits
};
constexpr int fault_position_bits = 40;

/// The faults of one GPU: a word of pinned memory that its kernels write and the host reads when it
/// waits for a stream. Of several faults one is kept. From any thread.
class Faults : public std::enable_shared_from_this<Faults> {
 public:
  explicit Faults(Api& api);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  /// Throws Error with what a kernel found since the last call, if anything.
  void check();

  /// A kernel's place in it, for as long as the kernel lives.
  class Reporter {
   public:
    Reporter(std::shared_ptr<Faults> faults, std::uint64_t kernel)
        : faults_(std::move(faults)), kernel_(kernel) {}
    ~Reporter();
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;
    FaultSite site() const { return {faults_->word_, kernel_ << fault_position_bits}; }

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
  Api& api_;
  volatile std::uint64_t* word_ = nullptr;
  std::mutex mutex_;  // guards the two below
  std::map<std::uint64_t, Message> messages_;
  std::uint64_t added_ = 0;
};

}  // namespace belfry::cuda
