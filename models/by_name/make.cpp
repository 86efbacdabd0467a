#include "belfry/models/make.h"

#include <cmath>

#include "belfry/models/by_name/maker.h"

namespace belfry::models {
namespace {

const by_name::Makers& makers() {
  static const by_name::Makers table = [] {
    by_name::Makers all;
    for (auto list :
         {by_name::classifiers, by_name::gans, by_name::masks, by_name::sequences, by_name::tables})
      all.merge(list());
    return all;
  }();
  return table;
}

// Sizes are added up before a shape is made of them, which knows what is too large.
void check_numbers(const JsonValue& json) {
  constexpr double most = std::int64_t{1} << 48;  // elements of a tensor
  if (json.is_list()) {
    for (const JsonValue& element : json.elements()) check_numbers(element);
  } else if (json.is_object()) {
    for (const auto& [name, member] : json.members()) check_numbers(member);
  } else if (!json.is_null() && !json.is_truth() && !json.is_text() && !json.is_fraction()) {
    if (std::abs(json.number()) > most) json.refuse("from -2^48 to 2^48 (a fraction has a point)");
  }
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : makers()) out.push_back(name);
  return out;
}

ModelFn make(std::string_view name, std::string_view json) {
  auto found = makers().find(name);
  require(found != makers().end(), "models: there is no `", name, "`; there are ",
          join(names(), ", "));
  JsonValue options = JsonValue::parse(json, concat("models: the options of ", name));
  options = options.titled(found->first);
  check_numbers(options);
  return found->second(options);
}

}  // namespace belfry::models
