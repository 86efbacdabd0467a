#include "belfry/framework/train/keep_rules.h"

#include "belfry/framework/base/error.h"

namespace belfry {

void validate(const KeepRules& rules, std::string_view name) {
  check_limits(rules, concat(name, "."));
  require(!rules.every || is_positive(*rules.every), name, ".every must be above 0, got ",
          rules.every.value_or(Steps(0)), "; std::nullopt turns it off");
}

bool stays(const KeepRules& rules, const WrittenAt& older, const WrittenAt& next,
           const std::optional<WrittenAt>& last) {
  if (rules.multiples_of.count > 0 && older.step % rules.multiples_of.count == 0) return true;
  if (!rules.every) return false;
  if (const auto* steps = std::get_if<Steps>(&*rules.every)) {
    auto span = [n = steps->count](std::int64_t step) { return step / n + (step % n != 0); };
    return span(older.step) != span(next.step);
  }
  return !last || older.time - last->time >= std::get<std::chrono::milliseconds>(*rules.every);
}

}  // namespace belfry
