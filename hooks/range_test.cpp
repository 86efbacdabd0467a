#include "belfry/hooks/range_test.h"

#include <algorithm>
#include <cmath>

#include "belfry/framework/base/log.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

constexpr double fading = 0.9, too_much = 4;

class WatchRangeTest final : public RangeTest {
 public:
  explicit WatchRangeTest(const RangeTestOptions& options) : options_(options) {}

  void after_step(const StepResult& result) override {
    mean_.add(result.loss, fading);
    Point point{rate_of(result.step - 1), mean_.value()};
    curve_.push_back(point);
    least_ = curve_.size() == 1 ? point.loss : std::min(least_, point.loss);
    bool rises = point.loss - least_ > (too_much - 1) * std::abs(least_);
    if (rises || !std::isfinite(point.loss))
      result.request_stop(concat("range test: the loss rises at a learning rate of ", point.rate));
  }

  void end(HookContext& context, Outcome outcome) override {
    if (outcome == Outcome::failed || !context.is_chief()) return;
    std::optional<double> rate = suggested();
    log_info("range test: ",
             rate ? concat("the loss fell the most at a learning rate of ", text(*rate))
                  : "the loss never fell");
  }

  const std::vector<Point>& curve() const override { return curve_; }

  std::optional<double> suggested() const override {
    std::optional<double> rate;
    double most = 0;
    for (std::size_t i = 1; i < curve_.size(); ++i) {
      double fall = curve_[i - 1].loss - curve_[i].loss;
      if (fall > most) most = fall, rate = curve_[i].rate;
    }
    return rate;
  }

 private:
  // With `step` steps before it.
  double rate_of(std::int64_t step) const {
    double done = std::min(1.0, static_cast<double>(step) / (options_.steps - 1));
    return options_.from * std::pow(options_.to / options_.from, done);
  }

  RangeTestOptions options_;
  FadingMean mean_;
  double least_ = 0;
  std::vector<Point> curve_;
};

}  // namespace

std::shared_ptr<RangeTest> watch_range_test(const RangeTestOptions& options) {
  range_test(options);  // throws where they are out of range
  return std::make_shared<WatchRangeTest>(options);
}

}  // namespace belfry::hooks
