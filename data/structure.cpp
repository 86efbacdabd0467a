#include "belfry/data/structure.h"

#include "belfry/framework/base/error.h"

namespace belfry::data {

Features nest(const std::vector<std::pair<std::string, Features>>& parts) {
  Features out;
  for (const auto& [prefix, features] : parts) {
    for (const auto& [name, array] : features) {
      std::string whole = prefix.empty() ? name : prefix + "/" + name;
      require(!out.contains(whole), "nest: the name `", whole, "` results twice");
      out.set(whole, array);
    }
  }
  return out;
}

Features part(const Features& features, std::string_view name) {
  Features out;
  std::vector<std::string> known;
  for (const auto& [whole, array] : features) {
    known.push_back(whole);
    std::string_view rest = whole;
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    if (rest.starts_with('/')) out.set(rest.substr(1), array);
  }
  if (out.empty()) fail_unknown_feature(concat(name, "/..."), known);
  return out;
}

}  // namespace belfry::data
