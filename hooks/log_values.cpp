#include "belfry/hooks/log_values.h"

#include <array>
#include <cstdio>

#include "belfry/framework/base/log.h"

namespace belfry::hooks {
namespace {

std::string six_digits(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

class LogValues final : public Hook {
 public:
  explicit LogValues(LogValuesOptions options)
      : options_(std::move(options)), cadence_(options_.every) {}

  void begin(HookContext&) override { cadence_ = Cadence(options_.every); }

  void after_step(const StepResult& result) override {
    if (!result.context.is_chief()) return;
    double now = options_.clock();
    if (!cadence_.due(result.step, now)) return;
    cadence_.triggered(result.step, now);
    std::vector<std::string> parts;
    if (options_.names.empty())
      for (const auto& [name, value] : result.values)
        parts.push_back(concat(name, " = ", six_digits(value)));
    for (const std::string& name : options_.names)
      parts.push_back(concat(name, " = ", six_digits(result.value(name))));
    log_info("step ", result.step, ": ", join(parts, ", "));
  }

 private:
  LogValuesOptions options_;
  Cadence cadence_;
};

}  // namespace

std::shared_ptr<Hook> log_values(LogValuesOptions options) {
  const auto* steps = std::get_if<Steps>(&options.every);
  require(steps ? steps->count >= 1 : std::get<std::chrono::seconds>(options.every).count() >= 1,
          "log_values: every must be at least 1, got ", options.every);
  return std::make_shared<LogValues>(std::move(options));
}

}  // namespace belfry::hooks
