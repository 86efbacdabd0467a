#pragma once
// The learning rates of a model's updates. Internal to hooks/.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Computes schedules on the host, apart from the step, by their own graph.
class ScheduledRates {
 public:
  /// Takes the schedule of the stage's update, in place of that of an earlier building of the same
  /// update. For Hook::after_apply().
  void take(const GradientStage& stage);
  /// Forgets all schedules.
  void clear() { rates_.clear(); }
  /// Whether read() looks at variables.
  bool reads_variables() const;
  /// The rates that the updates used in the last step, when `steps` are finished: "learning_rate",
  /// or "learning_rate/<title>" with several updates. A schedule that cannot be computed apart from
  /// its model is left out, with a warning at the first call.
  std::vector<std::pair<std::string, double>> read(std::int64_t steps, HookContext& context);

 private:
  struct Rate {
    std::string title;
    Schedule schedule;
    std::string counter;                // the variable that it follows; empty: global_step
    std::unique_ptr<Graph> graph = {};  // outlives the evaluator
    std::unique_ptr<Evaluator> evaluator = {};
  };
  void build(Rate& rate) const;

  std::map<std::size_t, Rate> rates_;  // by number of the update
  bool built_ = false;
};

}  // namespace belfry::hooks
