#include "belfry/models/make.h"

#include "belfry/models/by_name/reader.h"

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

by_name::Json parse(std::string_view name, std::string_view json) {
  try {
    return by_name::Json::parse(json);
  } catch (const by_name::Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string_view why = error.what();
    constexpr std::string_view before_place = "parse error at ";
    if (auto place = why.find(before_place); place != why.npos)
      why.remove_prefix(place + before_place.size());
    fail("models: the options of ", name, " are no JSON: ", why);
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
  return found->second(found->first, parse(name, json));
}

}  // namespace belfry::models
