#include "belfry/framework/base/fields.h"

namespace belfry {

std::string to_string(const Limits& limits) {
  if (limits.high == Limits().high) return concat("at least ", limits.low);
  return concat("in ", limits.low, "..", limits.high);
}

namespace detail {

// Takes the first name off a list that the preprocessor wrote: "a, b, c".
std::string_view pop_name(std::string_view& names) {
  std::size_t end = names.find(',');
  std::string_view name = names.substr(0, end);
  names.remove_prefix(end == names.npos ? names.size() : names.find_first_not_of(", ", end));
  return name;
}

void LimitsChecker::check(std::string_view name, std::int64_t value, Limits limits) const {
  require(value >= limits.low && value <= limits.high, place, name, " must be ", limits, ", got ",
          value);
}

}  // namespace detail
}  // namespace belfry
