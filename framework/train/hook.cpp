#include "belfry/framework/train/hook.h"

namespace belfry {

double StepResult::value(std::string_view name) const {
  std::vector<std::string> known{"loss"};
  if (name == "loss") return loss;
  for (const auto& [n, v] : values) {
    if (n == name) return v;
    known.push_back(n);
  }
  fail("there is no value `", name, "`; the model has ", join(known, ", "),
       "; add it to EstimatorSpec::values");
}

bool Cadence::due(std::int64_t step, double now) const {
  if (step == last_step_) return false;
  if (last_step_ < 0) return true;
  if (const auto* steps = std::get_if<Steps>(&every_)) return step - last_step_ >= steps->count;
  return now >= last_seconds_ + in_seconds(std::get<std::chrono::milliseconds>(every_));
}

void Cadence::triggered(std::int64_t step, double now) {
  last_step_ = step;
  last_seconds_ = now;
}

double HookContext::clock() const { return monotonic_seconds(); }

double monotonic_seconds() { return steady_seconds(); }

}  // namespace belfry
