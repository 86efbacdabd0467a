#pragma once
// A search for the learning rate to take.

#include <memory>
#include <optional>
#include <vector>

#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// A training whose learning rate is range_test(options): see watch_range_test().
class RangeTest : public Hook {
 public:
  /// The learning rate of a step and the loss there.
  struct Point {
    double rate,  ///< of the step
        loss;     ///< as a mean in which older steps fade, a tenth a step
  };
  /// A point for each step so far.
  virtual const std::vector<Point>& curve() const = 0;
  /// The rate at which the loss fell the most from one step to the next; none if it never fell.
  virtual std::optional<double> suggested() const = 0;
};

/// Watches a training from its first step, stops it once the loss is above four times its least or
/// not finite, and logs the rate that it suggests:
///
///   RangeTestOptions range{.from = 1e-6, .to = 1, .steps = 200};
///   auto watch = hooks::watch_range_test(range);   // the model's optimizer has range_test(range)
///   estimator.train(input_fn, {.steps = range.steps, .hooks = {watch}});
///
/// The model is spoilt by it: use a model_dir that is thrown away, and
/// RunConfig::fail_on_non_finite = false. Error: as range_test().
std::shared_ptr<RangeTest> watch_range_test(const RangeTestOptions& options = {});

}  // namespace belfry::hooks
