#include "belfry/hooks/best_value.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/framework/base/error.h"

namespace belfry::hooks {

double gain(Better better, double value, double other) {
  return better == Better::lower ? other - value : value - other;
}

BestValue::BestValue(std::string owner, std::string metric, Better better,
                     EarlyStoppingOptions stopping)
    : owner_(std::move(owner)), metric_(std::move(metric)), better_(better), stopping_(stopping) {
  require(stopping_.patience >= 0, owner_, ": patience must be at least 0, got ",
          stopping_.patience);
  require(stopping_.min_change >= 0, owner_, ": min_change must be at least 0, got ",
          stopping_.min_change);
  require(stopping_.min_steps >= 0, owner_, ": min_steps must be at least 0, got ",
          stopping_.min_steps);
}

bool BestValue::take(double value, std::int64_t step) {
  if (step <= last_step_) return false;
  last_ = value, last_step_ = step;
  bool better =
      std::isfinite(value) && (!is_known() || gain(better_, value, value_) > stopping_.min_change);
  if (better) {
    value_ = value, step_ = step, waited_ = 0;
  } else if (step >= stopping_.min_steps) {
    ++waited_;
  }
  return better;
}

std::optional<std::string> BestValue::reason_to_stop(std::int64_t step) const {
  if (stopping_.target && is_known() && step >= stopping_.min_steps
      && gain(better_, last_, *stopping_.target) >= 0)
    return concat(owner_, ": ", metric_, " is ", last_, " at step ", last_step_,
                  ", which is as good as ", *stopping_.target);
  if (stopping_.patience == 0 || waited_ < stopping_.patience || step < stopping_.min_steps)
    return std::nullopt;
  return concat(owner_, ": no better ", metric_, " in ", waited_, " evaluations",
                is_known() ? concat(", ", text()) : "");
}

std::string BestValue::text() const {
  return concat("the best ", metric_, " was ", value_, " at step ", step_);
}

std::string BestValue::state() const {
  if (last_step_ < 0) return {};
  nlohmann::json state{
      {"best", value_}, {"step", step_}, {"waited", waited_}, {"last_step", last_step_}};
  if (std::isfinite(last_)) state["last"] = last_;
  return state.dump();
}

void BestValue::restore(const std::string& state) {
  if (state.empty()) return;
  auto json = nlohmann::json::parse(state, nullptr, false);
  auto number = [&](const char* key) -> const nlohmann::json& {
    require(json.is_object() && json.contains(key) && json[key].is_number(), owner_,
            ": its state has no number `", key, "`: ", state);
    return json[key];
  };
  value_ = number("best").get<double>();
  step_ = number("step").get<std::int64_t>();
  waited_ = number("waited").get<std::int64_t>();
  last_step_ = number("last_step").get<std::int64_t>();
  last_ = json.contains("last") ? number("last").get<double>() : NAN;
}

}  // namespace belfry::hooks
