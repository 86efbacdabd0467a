#pragma once
// Memory that several users share. Internal to data/.

#include <atomic>
#include <cstdint>

namespace belfry::data {

/// Bytes of which parts are taken and given back. Thread rules: any thread may call it.
class Budget {
 public:
  /// At first all `bytes` are left.
  explicit Budget(std::int64_t bytes) : left_(bytes) {}

  /// False, and nothing taken, when so much is not left.
  bool reserve(std::int64_t bytes) {
    std::int64_t left = left_;
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    return false;
  }
  /// Returns bytes that reserve() has taken.
  void give_back(std::int64_t bytes) { left_ += bytes; }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace belfry::data
