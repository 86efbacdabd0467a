#include "belfry/models/make.h"

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
  return found->second(options.titled(found->first));
}

}  // namespace belfry::models
