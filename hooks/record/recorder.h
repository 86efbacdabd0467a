#pragma once
// The course of a training, as hooks that show it are told. Internal to hooks/.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

using NamedValues = std::vector<std::pair<std::string, double>>;

/// The learning rates of a model's updates: schedules are computed on the host, apart from the
/// step, by their own graph.
class ScheduledRates {
 public:
  /// Takes the schedule of the stage's update, in place of that of an earlier building of the same
  /// update.
  void record(const GradientStage& stage);
  /// Forgets all schedules.
  void clear() { rates_.clear(); }
  /// Whether read() looks at variables.
  bool reads_variables() const;
  /// The rates that the updates used in the last step, when `steps` are finished: "learning_rate",
  /// or "learning_rate/<title>" with several updates. A schedule that cannot be computed apart from
  /// its model is left out, with a warning at the first call.
  NamedValues read(std::int64_t steps, HookContext& context);

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

/// A training's figures at a step.
struct Record {
  std::int64_t step = 0;
  NamedValues values = {};             ///< the loss first, then EstimatorSpec::values
  NamedValues learning_rates = {};     ///< see ScheduledRates; none where the record is no due one
  std::optional<StepSums> speed = {};  ///< since the last due one; none at the first
};

struct RecorderOptions {
  Every every = Steps(100);                           ///< between records
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
  bool last_step = false;  ///< a record of the last step too, where training has a limit
  /// Records besides, without rates and speed, of steps with a loss or value that is not finite.
  bool not_finite = false;
};

/// Makes records of a training at its first step and then by cadence, for one hook that shows them,
/// which passes its calls on. On other workers than the chief there are none.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options) : o_(std::move(options)), cadence_(o_.every) {}

  void after_apply(const GradientStage& stage);
  void begin(const HookContext& context);
  bool needs_result_now(HookContext& context, std::int64_t step);
  /// The record of the step; nothing: it is not due.
  std::optional<Record> after_step(const StepResult& result);
  void end();

  /// The sums over all steps since begin(); `seconds` are 0.
  const StepSums& total() const { return total_; }

 private:
  RecorderOptions o_;
  Cadence cadence_;
  bool begun_ = false, active_ = false;
  bool due_ = false;  // after the step that was asked about ...
  double asked_ = 0;  // ... at this time
  ScheduledRates rates_;
  StepMeter meter_;  // since the last due record
  bool has_due_ = false;
  StepSums total_;
};

}  // namespace belfry::hooks
