#include <algorithm>
#include <array>
#include <cstdio>

#include "belfry/framework/base/text.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

StepSums& StepSums::operator+=(const StepSums& other) {
  steps += other.steps;
  rows += other.rows;
  seconds += other.seconds;
  input_wait_seconds += other.input_wait_seconds;
  times += other.times;
  return *this;
}

StepSums StepSums::operator/(double n) const {
  return {.steps = steps / n,
          .rows = rows / n,
          .seconds = seconds / n,
          .input_wait_seconds = input_wait_seconds / n,
          .times = times / n};
}

StepSums sums_of(const StepResult& result) {
  return {.steps = 1,
          .rows = static_cast<double>(result.rows),
          .input_wait_seconds = result.input_wait_seconds,
          .times = result.times};
}

void StepMeter::begin(const HookContext& context, double now) {
  sums_ = {};
  since_ = now;
  paused_ = context.paused_seconds();
}

StepSums StepMeter::collect(const HookContext& context, double now) {
  StepSums out = sums_;
  out.seconds = std::max(0.0, now - since_ - (context.paused_seconds() - paused_));
  begin(context, now);
  return out;
}

std::string breakdown_text(double input_wait_seconds, const StepTimes& times, double seconds) {
  auto percent = [seconds](double part) {
    std::array<char, 16> text;
    std::snprintf(text.data(), text.size(), "%.0f%%",
                  seconds > 0 ? 100 * std::min(1.0, part / seconds) : 0.0);
    return std::string(text.data());
  };
  std::string out = "input " + percent(input_wait_seconds);
  double reduction = times.exposed_reduction + times.hidden_reduction;
  bool known = times.copy + times.compute + times.transfer + reduction + times.apply > 0;
  if (!known) return out;
  if (times.copy / seconds >= 0.01) out += ", copy " + percent(times.copy);
  out += ", compute " + percent(times.compute);
  if (times.transfer > 0) out += ", transfer " + percent(times.transfer);
  if (reduction > 0) out += ", reduce " + percent(times.exposed_reduction);
  if (times.hidden_reduction > 0) out += " (+" + percent(times.hidden_reduction) + " hidden)";
  return out + ", apply " + percent(times.apply);
}

std::string breakdown_text(const StepSums& sums) {
  return breakdown_text(sums.input_wait_seconds, sums.times, sums.seconds);
}

}  // namespace belfry
