#pragma once

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {

/// A job of which only this worker exists.
class StubWorkers final : public Workers {
 public:
  /// `other`: what another worker, the next one, has whenever something is gathered; empty: nothing
  /// is gathered.
  StubWorkers(int count, int rank, std::vector<std::byte> other = {})
      : count_(count), rank_(rank), other_(std::move(other)) {}
  int count() const override { return count_; }
  int rank() const override { return rank_; }
  std::string describe() const override { return "stub"; }
  void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}
  void broadcast(std::vector<std::byte>&) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) override {
    if (other_.empty()) return {};
    return {{own.begin(), own.end()}, other_};
  }
  std::shared_ptr<Communicator> communicator(const CommunicatorOptions&) override { return {}; }
  void announce_failure(const std::string& reason) noexcept override { announced_ = reason; }
  const std::string& announced() const { return announced_; }

 private:
  int count_, rank_;
  std::vector<std::byte> other_;
  std::string announced_;
};

}  // namespace belfry
