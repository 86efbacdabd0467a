#pragma once
// When training stops for want of a better value of a metric.

#include <cstdint>
#include <optional>

namespace belfry {

/// Which of two values of a metric is the better one.
enum class Better : std::uint8_t { lower, higher };

/// When training stops by the results of an evaluation: see EvalSpec::early_stopping.
struct EarlyStoppingOptions {
  /// Evaluations in a row without a better value after which training stops; 0: it never does.
  std::int64_t patience = 0;
  double min_change = 0;  ///< a value is better if it is by more than this; at least 0
  /// Evaluations after fewer steps neither stop training nor count as waited.
  std::int64_t min_steps = 0;
  /// Training stops when the metric is as good as this. nullopt: no value is good enough.
  std::optional<double> target = {};
};

}  // namespace belfry
