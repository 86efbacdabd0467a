#include "belfry/framework/base/enum_names.h"

#include <exception>

#include "belfry/framework/base/error.h"

namespace belfry::detail {

std::string_view name_at(std::span<const std::string_view> names, std::size_t index) {
  ensure(index < names.size(), "value ", index, " of an enumeration that has ", join(names, ", "));
  return names[index];
}

void fail_no_such_value(std::int64_t value) {
  ensure(false, "value ", value, " of an enumeration that has no such value");
  std::terminate();
}

}  // namespace belfry::detail
