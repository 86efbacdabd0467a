#include <array>
#include <cstdio>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"
#include "belfry/framework/train/step_breakdown.h"

namespace belfry {
namespace {

class LogSteps final : public Hook {
 public:
  LogSteps(Steps every, std::function<double()> clock) : every_(every), clock_(std::move(clock)) {}

  void begin(HookContext&) override { start(clock_()); }

  void after_step(const StepResult& result) override {
    if (!result.context.is_chief()) return;
    ++steps_;
    rows_ += result.rows;
    waiting_ += result.input_wait_seconds;
    times_ += result.times;
    if (result.step % every_.count != 0) return;
    double now = clock_(), seconds = now - since_;
    std::array<char, 120> line;
    std::snprintf(line.data(), line.size(),
                  "step %lld: loss = %.6g, %.1f steps/s, %.0f examples/s, ",
                  static_cast<long long>(result.step), result.loss,
                  static_cast<double>(steps_) / seconds, static_cast<double>(rows_) / seconds);
    log_info(line.data(), breakdown_text(waiting_, times_, seconds));
    start(now);
  }

 private:
  void start(double now) {
    since_ = now;
    steps_ = rows_ = 0;
    waiting_ = 0;
    times_ = {};
  }

  Steps every_;
  std::function<double()> clock_;
  double since_ = 0, waiting_ = 0;
  StepTimes times_;
  std::int64_t steps_ = 0, rows_ = 0;
};

}  // namespace

std::shared_ptr<Hook> log_steps(Steps every, std::function<double()> clock) {
  return std::make_shared<LogSteps>(every, std::move(clock));
}

}  // namespace belfry
