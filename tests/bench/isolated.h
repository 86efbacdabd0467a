#pragma once
// One kernel by itself, on memory of its own.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/runtime/step_trace.h"

namespace belfry::bench {

inline double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

/// Operands and workspace lie in one piece of memory, as in the arena of a plan, so that they are
/// on huge pages where those of a plan would be.
class Isolated {
 public:
  Isolated(const Node& node, Kernel& kernel, Device& device) : kernel_(kernel) {
    packed_ = kernel_.packed_inputs();
    std::vector<std::int64_t> inputs, outputs, plain, pack_workspaces;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      inputs.push_back(node.inputs()[i].type().bytes());
      for (const PackedInput& p : packed_)
        if (p.input == static_cast<int>(i)) inputs.back() = p.size.count;
    }
    for (const TensorType& type : node.outputs()) outputs.push_back(type.bytes());
    for (const PackedInput& p : packed_) {
      plain.push_back(node.inputs()[static_cast<std::size_t>(p.input)].type().bytes());
      pack_workspaces.push_back(p.pack->workspace().count);
    }
    std::int64_t total = aligned(kernel_.workspace().count);
    for (const auto* sizes : {&inputs, &outputs, &plain, &pack_workspaces})
      for (std::int64_t bytes : *sizes) total += aligned(bytes);
    constexpr std::int64_t arena = 64 << 20;  // plans have more than one kernel
    memory_ = device.allocate(Bytes(std::max(total, arena)), "operands");
    std::memset(memory_.data(), 0, static_cast<std::size_t>(total));
    workspace_ = take(kernel_.workspace().count);
    for (std::int64_t bytes : inputs) inputs_.push_back(take(bytes));
    for (std::int64_t bytes : outputs) outputs_.push_back(take(bytes));
    for (std::int64_t bytes : plain) plain_.push_back(take(bytes));
    for (std::int64_t bytes : pack_workspaces) pack_workspaces_.push_back(take(bytes));
  }

  double seconds(Stream& stream) {
    KernelArguments arguments{inputs_, outputs_, workspace_};
    return timed([&] { kernel_.run(arguments, stream); });
  }

  /// How long it takes to pack the inputs that the kernel wants packed.
  double packing_seconds(Stream& stream) {
    double out = 0;
    for (std::size_t i = 0; i < packed_.size(); ++i) {
      void* to = inputs_[static_cast<std::size_t>(packed_[i].input)];
      KernelArguments arguments{{&plain_[i], 1}, {&to, 1}, pack_workspaces_[i]};
      out += timed([&] { packed_[i].pack->run(arguments, stream); });
    }
    return out;
  }

 private:
  template <class F>
  static double timed(const F& run) {
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      double start = steady_seconds();
      run();
      if (i >= 2) times.push_back(steady_seconds() - start);
    }
    return median(times);
  }

  static std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
  void* take(std::int64_t bytes) {
    return static_cast<std::byte*>(memory_.data()) + std::exchange(taken_, taken_ + aligned(bytes));
  }

  Kernel& kernel_;
  std::vector<PackedInput> packed_;
  DeviceMemory memory_;
  std::int64_t taken_ = 0;
  std::vector<void*> inputs_, outputs_, plain_, pack_workspaces_;
  void* workspace_ = nullptr;
};

}  // namespace belfry::bench
