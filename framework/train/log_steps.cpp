#include <array>
#include <cstdio>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"
#include "belfry/framework/train/hook.h"

namespace belfry {
namespace {

class LogSteps final : public Hook {
 public:
  LogSteps(Steps every, std::function<double()> clock) : every_(every), clock_(std::move(clock)) {}

  void begin(HookContext& context) override { meter_.begin(context, clock_()); }

  void after_step(const StepResult& result) override {
    if (!result.context.is_chief()) return;
    meter_.add(result);
    if (result.step % every_.count != 0) return;
    StepSums sums = meter_.collect(result.context, clock_());
    std::array<char, 120> line;
    std::snprintf(line.data(), line.size(),
                  "step %lld: loss = %.6g, %.1f steps/s, %.0f examples/s, ",
                  static_cast<long long>(result.step), result.loss, sums.steps_per_second(),
                  sums.examples_per_second());
    log_info(line.data(), breakdown_text(sums));
  }

 private:
  Steps every_;
  std::function<double()> clock_;
  StepMeter meter_;
};

}  // namespace

std::shared_ptr<Hook> log_steps(Steps every, std::function<double()> clock) {
  return std::make_shared<LogSteps>(every, std::move(clock));
}

}  // namespace belfry
