#pragma once
// A description of what a training does, or would do, as text. Internal to train/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/train/run/hook_list.h"
#include "belfry/framework/train/step/step_driver.h"
#include "belfry/framework/train/training.h"

namespace belfry {

class Session;

/// The step at which a training that begins after `first_step` ends; none if it has no limit.
std::optional<std::int64_t> last_step(const TrainOptions& options, std::int64_t first_step);

/// A training whose models are made for a batch.
struct PreparedTraining {
  Session& session;
  const RunConfig& config;
  const TrainOptions& options;
  const HookList& hooks;  ///< EstimatorSpec::hooks included
  StepDriver& driver;
  std::int64_t first_step = 0;
  std::optional<std::int64_t> last_step = {};
  /// The plan that a tower runs for a sub-step with these of the model's updates.
  std::function<const TowerPlan&(int tower, UpdateSet updates)> plan;

  const Replicas& replicas() const { return driver.replicas(); }
};
/// See Estimator::plan(), but without the warm start.
std::string describe_training(const PreparedTraining& training);
/// The memory of the first tower's devices over each of its steps: see memory_picture().
std::string memory_pictures(const PreparedTraining& training);

/// See Estimator::plan().
std::string training_plan(Session& session, const RunConfig& config, const InputFn& input_fn,
                          const TrainOptions& options);

}  // namespace belfry
