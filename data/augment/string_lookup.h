#pragma once
// From words to the numbers that a network takes.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/data/augment/augmentation.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of string_lookup().
struct StringLookupOptions {
  std::string feature{};                  ///< its name; must be given
  std::vector<std::string> vocabulary{};  ///< the words that may occur
  /// The index of all words that are not in the vocabulary. -1, unlike in a CsvColumn: none, they
  /// are an Error.
  std::int64_t unknown = -1;
  /// Words that are not in the vocabulary, which may be empty, are spread over so many indices
  /// behind it by a hash that never changes. 0: as said above.
  std::int64_t buckets = 0;
  BELFRY_FIELDS(feature, vocabulary, unknown, buckets)
};

/// The text in a feature, u8 [length], becomes the word's index in the vocabulary, i64 [], as of a
/// CsvColumn with these options. In a preparation (ExportSignature::preparation) it lets an export
/// take words:
///
///   data::compose({data::string_lookup({.feature = "sex", .vocabulary = {"Female", "Male"}}),
///                  data::normalize({.mean = {38}, .deviation = {13}, .image = "ages"})})
///
/// Error: no feature's name; neither words nor buckets; a word twice; buckets below 0 or beside
/// `unknown`; `unknown` below -1. Error of a call: the feature is no text; a word without an index.
Augmentation string_lookup(StringLookupOptions options);

}  // namespace belfry::data
