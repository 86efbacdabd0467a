#include "belfry/framework/base/fields.h"

#include <exception>

namespace belfry {

std::string to_string(const Limits& limits) {
  if (limits.high == Limits().high) return concat("at least ", limits.low);
  return concat("in ", limits.low, "..", limits.high);
}

namespace detail {

std::string_view name_at(std::span<const std::string_view> names, std::size_t index) {
  ensure(index < names.size(), "value ", index, " of an enumeration that has ", join(names, ", "));
  return names[index];
}

void fail_no_such_value(std::int64_t value) {
  ensure(false, "value ", value, " of an enumeration that has no such value");
  std::terminate();
}

// Takes the first name off a list that the preprocessor wrote: "a, b, c".
std::string_view pop_name(std::string_view& names) {
  std::size_t end = names.find(',');
  std::string_view name = names.substr(0, end);
  names.remove_prefix(end == names.npos ? names.size() : names.find_first_not_of(", ", end));
  return name;
}

void LimitsChecker::check(std::string_view name, std::int64_t value, Limits limits) const {
  require(value >= limits.low && value <= limits.high, prefix, name, " must be ", limits, ", got ",
          value);
}

}  // namespace detail
}  // namespace belfry
