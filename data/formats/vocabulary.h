#pragma once
// Words as numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belfry::data {

/// The index of each word of a list, and of words that are not in it: CsvColumn says which. Thread
/// rules: a value; any number of threads may look words up.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Error: a word twice; buckets below 0 or beside `unknown`.
  Vocabulary(const std::vector<std::string>& words, std::optional<std::int64_t> unknown,
             std::int64_t buckets);

  bool empty() const { return indices_.empty() && buckets_ == 0; }  ///< no word has an index
  /// Error: the word has no index.
  std::int64_t index(const std::string& word) const;

 private:
  std::unordered_map<std::string, std::int64_t> indices_;
  std::optional<std::int64_t> unknown_;
  std::int64_t buckets_ = 0;
};

}  // namespace belfry::data
