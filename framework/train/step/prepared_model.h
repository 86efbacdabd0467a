#pragma once
// A model for batches of a signature, with its executables. Internal to train/.

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "belfry/framework/runtime/tower_executable.h"
#include "belfry/framework/train/model/model.h"

namespace belfry {

class Replicas;

/// A session's plan cache has one for each signature of each Replicas.
struct PreparedModel {
  const Replicas* owner;
  Model model;
  std::map<std::pair<int, UpdateSet>, std::unique_ptr<TowerExecutable>> executables =
      {};                                                          ///< by tower and chosen updates
  std::map<int, std::unique_ptr<TowerExecutable>> summaries = {};  ///< by tower
};

}  // namespace belfry
