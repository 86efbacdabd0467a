#include "belfry/hooks/log_input.h"

#include "belfry/framework/base/log.h"

namespace belfry::hooks {
namespace {

class LogInput final : public Hook {
 public:
  explicit LogInput(LogInputOptions options)
      : options_(std::move(options)), cadence_(options_.every) {}

  void begin(HookContext& context) override {
    cadence_ = Cadence(options_.every);
    cadence_.triggered(context.step(), options_.clock());
  }

  void after_step(const StepResult& result) override {
    double now = options_.clock();
    if (!cadence_.due(result.step, now)) return;
    cadence_.triggered(result.step, now);
    log(result.context);
  }

  void end(HookContext& context, Outcome) override { log(context); }

 private:
  static void log(const HookContext& context) {
    auto stages = context.input_stages();
    if (!stages.empty()) log_info("input after step ", context.step(), ":\n", to_string(stages));
  }

  LogInputOptions options_;
  Cadence cadence_;
};

}  // namespace

std::shared_ptr<Hook> log_input(LogInputOptions options) {
  const auto* steps = std::get_if<Steps>(&options.every);
  require(steps ? steps->count >= 1 : std::get<std::chrono::seconds>(options.every).count() >= 1,
          "log_input: every must be at least 1, got ", options.every);
  return std::make_shared<LogInput>(std::move(options));
}

}  // namespace belfry::hooks
