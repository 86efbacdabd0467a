#include "belfry/hooks/record/log.h"

#include "belfry/framework/base/log.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

class LogValues final : public Hook {
 public:
  explicit LogValues(LogValuesOptions options)
      : options_(std::move(options)), cadence_(options_.every) {}

  void begin(HookContext&) override {
    cadence_ = Cadence(options_.every);
    step_ = logged_ = 0;
    last_.clear();
  }

  void after_step(const StepResult& result) override {
    if (!result.context.is_chief()) return;
    double now = options_.clock();
    bool due = cadence_.due(result.step, now);
    if (!due && !options_.at_end) return;
    add(result);
    if (!due) return;
    cadence_.triggered(result.step, now);
    log();
  }

  void end(HookContext&, Outcome) override {
    if (options_.at_end && logged_ != step_) log();
  }

 private:
  void add(const StepResult& result) {
    step_ = result.step;
    last_.clear();
    if (options_.names.empty()) last_.assign(result.values.begin(), result.values.end());
    for (const std::string& name : options_.names) last_.emplace_back(name, result.value(name));
  }

  void log() {
    logged_ = step_;
    if (options_.format) return log_info(options_.format(step_, last_));
    std::vector<std::string> parts;
    for (const auto& [name, value] : last_)
      parts.push_back(concat(name, " = ", printed("%.6g", value)));
    log_info("step ", step_, ": ", join(parts, ", "));
  }

  LogValuesOptions options_;
  Cadence cadence_;
  std::vector<std::pair<std::string, double>> last_;
  std::int64_t step_ = 0, logged_ = 0;  // of these values; of the last line
};

}  // namespace

std::shared_ptr<Hook> log_values(LogValuesOptions options) {
  require(is_positive(options.every), "log_values: every must be above 0, got ", options.every);
  if (!options.clock) options.clock = monotonic_seconds;
  return std::make_shared<LogValues>(std::move(options));
}

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
  require(is_positive(options.every), "log_input: every must be above 0, got ", options.every);
  if (!options.clock) options.clock = monotonic_seconds;
  return std::make_shared<LogInput>(std::move(options));
}

}  // namespace belfry::hooks
