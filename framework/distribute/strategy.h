#pragma once
// Which devices a model runs on, and how they share the work.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/policies.h"

namespace belfry {

/// One copy of the model: a group of devices. Scope::on(device) places parts of the model on
/// them.
struct Tower {
  std::vector<std::shared_ptr<Device>> devices;  ///< by device

  std::string name() const;  ///< "cpu:0", "cpu:0+cpu:1"
};

/// Towers that each take a shard of every step.
struct Strategy {
  std::vector<Tower> towers;
  BatchPolicy batch = BatchPolicy::global;
  VariablePlacement variables = VariablePlacement::mirrored;

  int size() const { return towers.size(); }
  int devices_per_tower() const { return towers[0].devices.size(); }  ///< of each tower
  /// "global batch 15 = 2 towers: 8 + 7", for `rows` in a batch of the input and `workers` such
  /// strategies.
  std::string describe_batch(std::int64_t rows, int workers = 1) const;
};

/// A tower for each entry of `devices`: a device, "cpu" or "cuda:1", or several joined by +, one a
/// device: "cpu:0+cpu:1". Error: no names, a device named twice, an unknown device, towers with
/// different numbers of devices; central variables on devices that do not reach the first tower's.
Strategy make_strategy(const std::vector<std::string>& devices,
                       BatchPolicy batch = BatchPolicy::global,
                       VariablePlacement variables = VariablePlacement::mirrored);

}  // namespace belfry
