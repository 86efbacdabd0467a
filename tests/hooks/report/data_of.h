#pragma once
// The data of a report's page.

#include <nlohmann/json.hpp>
#include <string_view>

namespace belfry::hooks {

/// The JSON of the page's block, which ends where a browser sees its end.
inline nlohmann::json data_of(std::string_view page) {
  constexpr std::string_view begin = "<script type=\"application/json\" id=\"data\">";
  std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace belfry::hooks
