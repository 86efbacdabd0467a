#include <algorithm>
#include <numeric>
#include <utility>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

// Levenshtein's distance, a row of the table at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& other : names) {
    std::size_t d = distance(name, other);
    if (2 * d <= std::max(name.size(), other.size())) found.emplace_back(d, other);
  }
  std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
  if (found.size() > count) found.resize(count);
  std::vector<std::string> nearest;
  for (auto& [d, other] : found) nearest.push_back(std::move(other));
  return nearest;
}

}  // namespace belfry
