#pragma once
// One kernel by itself, on memory of its own.

#include <algorithm>
#include <cstring>
#include <memory>
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

class Isolated {
 public:
  Isolated(const Node& node, Kernel& kernel, Device& device) : kernel_(kernel) {
    packed_ = kernel_.packed_inputs();
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      std::int64_t bytes = node.inputs()[i].type().bytes();
      for (const PackedInput& p : packed_)
        if (p.input == static_cast<int>(i)) bytes = p.size.count;
      add(inputs_, bytes, device);
    }
    for (const TensorType& type : node.outputs()) add(outputs_, type.bytes(), device);
    workspace_ = device.allocate(kernel_.workspace(), "workspace");
    for (const PackedInput& p : packed_) {
      add(plain_, node.inputs()[static_cast<std::size_t>(p.input)].type().bytes(), device);
      pack_workspaces_.push_back(device.allocate(p.pack->workspace(), "workspace"));
    }
  }

  double seconds(Stream& stream) {
    KernelArguments arguments{inputs_, outputs_, workspace_.data()};
    return timed([&] { kernel_.run(arguments, stream); });
  }

  /// How long it takes to pack the inputs that the kernel wants packed.
  double packing_seconds(Stream& stream) {
    double out = 0;
    for (std::size_t i = 0; i < packed_.size(); ++i) {
      void* to = inputs_[static_cast<std::size_t>(packed_[i].input)];
      KernelArguments arguments{{&plain_[i], 1}, {&to, 1}, pack_workspaces_[i].data()};
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

  void add(std::vector<void*>& list, std::int64_t bytes, Device& device) {
    memory_.push_back(device.allocate(Bytes(bytes), "operand"));
    std::memset(memory_.back().data(), 0, static_cast<std::size_t>(bytes));
    list.push_back(memory_.back().data());
  }

  Kernel& kernel_;
  std::vector<PackedInput> packed_;
  std::vector<DeviceMemory> memory_, pack_workspaces_;
  std::vector<void*> inputs_, outputs_, plain_;
  DeviceMemory workspace_;
};

}  // namespace belfry::bench
