#include <array>
#include <cstdio>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

class LogSteps final : public Hook {
 public:
  explicit LogSteps(Steps every) : every_(every) {}

  void begin(HookContext&) override { start(); }

  void after_step(const StepResult& result) override {
    ++steps_;
    rows_ += result.rows;
    waiting_ += result.input_wait_seconds;
    if (result.step % every_.count != 0) return;
    double seconds = monotonic_seconds() - since_;
    std::array<char, 200> line;
    std::snprintf(
        line.data(), line.size(),
        "step %lld: loss = %.6g, %.1f steps/s, %.0f examples/s, waiting for input %.1f %%",
        static_cast<long long>(result.step), result.loss, static_cast<double>(steps_) / seconds,
        static_cast<double>(rows_) / seconds, 100 * waiting_ / seconds);
    log_line(LogLevel::info, line.data());
    start();
  }

 private:
  void start() {
    since_ = monotonic_seconds();
    steps_ = rows_ = 0;
    waiting_ = 0;
  }

  Steps every_;
  double since_ = 0, waiting_ = 0;
  std::int64_t steps_ = 0, rows_ = 0;
};

}  // namespace

std::shared_ptr<Hook> log_steps(Steps every) { return std::make_shared<LogSteps>(every); }

}  // namespace belfry
