#include "belfry/framework/train/step_breakdown.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "belfry/framework/base/text.h"

namespace belfry {

std::string breakdown_text(double input_wait_seconds, const StepTimes& times, double seconds) {
  auto percent = [seconds](double part) {
    std::array<char, 16> text;
    std::snprintf(text.data(), text.size(), "%.0f%%", 100 * std::min(1.0, part / seconds));
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

}  // namespace belfry
