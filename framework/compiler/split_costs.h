#pragma once
// The memory and time that a model takes on several devices, for any cut. Internal to
// compiler/.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/framework/compiler/auto_split.h"

namespace belfry {

/// A step of forward passes and their gradients as numbers, so that thousands of ways to place it
/// can be compared. Estimates: without what is fused later, and without workspaces.
class SplitCosts {
 public:
  /// See split_placements().
  SplitCosts(std::span<const SplitPass> passes, const SplitOptions& options);

  /// By node of a pass, about how long it takes: only ratios count.
  const std::vector<double>& work() const { return work_; }

  struct Cost {
    std::vector<std::int64_t> bytes;  ///< by device: variables, and the most that lives at a time
    double seconds = 0;               ///< of a step, about; only ratios count
    /// Devices with less than a sixteenth of an even share of both, each by how much it lacks.
    double idle_devices = 0;
  };
  /// With node i of each pass on device_of[i], and its gradients, too.
  Cost of(std::span<const int> device_of) const;

 private:
  // A value. Variables and inputs are there in any case.
  struct Item {
    std::int64_t bytes = 0;
    int maker = -1;  // step; -1: a leaf
    bool variable = false, output = false;
    int device = -1;                                          // where the variable lies already
    std::int64_t kept = 0;                                    // of a variable: with optimizer slots
    bool is_input() const { return maker < 0 && !variable; }  // or a constant
  };
  struct Step {
    int home = 0;  // node of a pass
    double seconds = 0;
    std::vector<int> inputs = {}, outputs = {}, overwrites = {};
  };

  class Run;

  void add_step(const Node& node, std::vector<std::vector<int>>& items_of);

  int devices_;
  std::size_t passes_;
  WorkRates rates_;
  std::vector<double> work_;
  std::vector<Item> items_;
  std::vector<Step> steps_;
};

}  // namespace belfry
