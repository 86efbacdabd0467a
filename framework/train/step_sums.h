#pragma once
// The speed of a training, and where the time of its steps goes.

#include <string>

#include "belfry/framework/graph/step_record.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

/// Sums over some steps that follow each other.
struct StepSums {
  double steps = 0, rows = 0;
  double seconds = 0;             ///< from the end of the step before them, without pauses
  double input_wait_seconds = 0;  ///< of these: waiting for batches
  StepTimes times = {};

  StepSums& operator+=(const StepSums& other);
  StepSums operator/(double n) const;  ///< every number

  // 0 where `seconds` is.
  double steps_per_second() const { return over_seconds(steps); }
  double examples_per_second() const { return over_seconds(rows); }
  double waiting_share() const { return over_seconds(input_wait_seconds); }
  double over_seconds(double x) const { return seconds > 0 ? x / seconds : 0; }
};

/// The sums of one step, without its seconds.
StepSums sums_of(const StepResult& result);

/// Sums steps up. All speeds that people see are made of its sums: what hooks evaluate or sample
/// between steps (TrainingPause) is in none of them.
class StepMeter {
 public:
  /// The sums of no steps, from `now` on: seconds of a clock that never goes back. The first take()
  /// begins, too, where this was not called; its seconds mean nothing then.
  void begin(const HookContext& context, double now);
  void add(const StepResult& result) { sums_ += sums_of(result); }
  /// The sums since begin() or the last take().
  StepSums take(const HookContext& context, double now);

 private:
  StepSums sums_;
  double since_ = 0, paused_ = 0;
};

/// Shares of `seconds`, which steps took in all, their waiting for input included; the other times
/// are sums over the same steps:
///
///    input 3%, copy 1%, compute 83%, transfer 1%, reduce 2% (+9% hidden), apply 10%
///
/// `compute` is forward and backward; `transfer` waits for other slots of a tower; `reduce` waits
/// for sums over towers, while hidden ones are under way beside computing and cost nothing. `copy`
/// is shown from 1% on; `transfer` and `reduce` where there is any; nothing but `input` where
/// `times` are all 0. Shares of no seconds are 0%.
std::string breakdown_text(double input_wait_seconds, const StepTimes& times, double seconds);
std::string breakdown_text(const StepSums& sums);

}  // namespace belfry
