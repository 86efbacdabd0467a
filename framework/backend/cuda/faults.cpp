#include "belfry/framework/backend/cuda/faults.h"

#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

constexpr std::uint64_t most_kernels = std::uint64_t{1} << (64 - fault_position_bits);

}  // namespace

void Faults::check(std::uint64_t word) const {
  if (word == 0) return;
  MutexLock lock(mutex_);
  auto message = messages_.find(word >> fault_position_bits);
  ensure(message != messages_.end(), "a kernel that is gone reported bad data");
  std::uint64_t position = word & ((std::uint64_t{1} << fault_position_bits) - 1);
  fail(message->second.before, position, message->second.behind);
}

std::shared_ptr<Faults::Reporter> Faults::add(std::string before, std::string behind) {
  MutexLock lock(mutex_);
  ensure(messages_.size() + 1 < most_kernels, "too many kernels that report bad data");
  do added_ = added_ % (most_kernels - 1) + 1;  // 0 means: nothing found
  while (messages_.contains(added_));
  messages_[added_] = {std::move(before), std::move(behind)};
  return std::make_shared<Reporter>(shared_from_this(), added_);
}

Faults::Reporter::~Reporter() {
  MutexLock lock(faults_->mutex_);
  faults_->messages_.erase(kernel_);
}

}  // namespace belfry::cuda
