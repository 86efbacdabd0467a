#include "belfry/data/formats/vocabulary.h"

#include "belfry/data/formats/csv_value.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

Vocabulary::Vocabulary(const std::vector<std::string>& words, std::optional<std::int64_t> unknown,
                       std::int64_t buckets)
    : unknown_(unknown), buckets_(buckets) {
  require(buckets >= 0, buckets, " buckets; expected at least 0");
  require(buckets == 0 || !unknown, buckets, " buckets beside .unknown; give one of the two");
  for (const std::string& word : words) {
    bool added = indices_.emplace(word, std::ssize(indices_)).second;
    require(added, "the vocabulary has ", shown(word), " twice");
  }
}

std::int64_t Vocabulary::index(const std::string& word) const {
  auto found = indices_.find(word);
  if (found != indices_.end()) return found->second;
  // A hash that never changes.
  if (buckets_ > 0) return std::ssize(indices_) + philox_key(0, word).value % buckets_;
  require(unknown_, shown(word), " is not in the vocabulary of ", indices_.size(),
          " words; add it, or set .unknown to give such words an index");
  return *unknown_;
}

}  // namespace belfry::data
