#pragma once
// The best value of a metric so far. Internal to hooks/.

#include <cstdint>
#include <optional>
#include <string>

#include "belfry/hooks/early_stopping.h"

namespace belfry::hooks {

/// By how much `value` is better than `other`; below 0 if it is worse.
double gain(Better better, double value, double other);

/// Keeps the best value that it is told and the last one, their steps, and for how many evaluations
/// there has been no better one. A NaN or infinite value is never better.
class BestValue {
 public:
  /// Errors and reasons begin with `owner`. Error: negative patience, min_change or min_steps.
  BestValue(std::string owner, std::string metric, Better better, EarlyStoppingOptions stopping);

  /// Whether the value after this step is the best so far. A step that is no later than another
  /// that was told changes nothing.
  bool take(double value, std::int64_t step);
  /// Why training stops when it has come to this step; nothing: it goes on.
  std::optional<std::string> reason_to_stop(std::int64_t step) const;

  bool is_known() const { return step_ >= 0; }
  double value() const { return value_; }
  std::int64_t step() const { return step_; }
  double last_value() const { return last_; }
  std::int64_t last_step() const { return last_step_; }  ///< -1: there is none yet
  const std::string& owner() const { return owner_; }
  const std::string& metric() const { return metric_; }
  std::string text() const;  ///< "the best loss was 0.5 at step 4"

  /// JSON; empty before there is anything to tell.
  std::string state() const;
  void restore(const std::string& state);

 private:
  std::string owner_, metric_;
  Better better_;
  EarlyStoppingOptions stopping_;
  double value_ = 0;
  std::int64_t step_ = -1;  // of the best; -1: there is none yet
  std::int64_t waited_ = 0;
  double last_ = 0;
  std::int64_t last_step_ = -1;
};

}  // namespace belfry::hooks
