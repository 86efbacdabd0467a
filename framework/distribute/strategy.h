#pragma once
// Which devices a model runs on.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/backend/backend.h"

namespace belfry {

/// One copy of the model: a group of device slots. Scope::on(slot) places parts of the model on
/// them.
struct Tower {
  std::vector<std::shared_ptr<Device>> devices;  ///< by slot
};

/// Towers that each take a share of the global batch.
struct Strategy {
  std::vector<Tower> towers;

  /// "global batch 64 = 1 tower x 64"
  std::string describe_batch(std::int64_t global_rows) const;
};

/// A tower for each device named, "cpu" or "cpu:0". Error: no names, a name twice, an unknown
/// device, or more than one device (gradients are not averaged over towers in this version).
Strategy make_strategy(const std::vector<std::string>& devices);

}  // namespace belfry
