#include "belfry/data/augment/string_lookup.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "belfry/data/augment/definition.h"
#include "belfry/data/formats/vocabulary.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Vocabulary vocabulary_of(const StringLookupOptions& o) {
  require(!o.feature.empty(), "the option feature must be given, the name of a text");
  require(o.unknown >= -1, "unknown must be an index from 0, or -1 for none, got ", o.unknown);
  Vocabulary out(o.vocabulary, o.unknown < 0 ? std::nullopt : std::optional(o.unknown), o.buckets);
  require(!out.empty(), "no word has an index; give a vocabulary, or buckets");
  return out;
}

struct Lookup {
  explicit Lookup(const StringLookupOptions& o)
      : feature(o.feature), vocabulary(vocabulary_of(o)) {}

  std::string feature;
  Vocabulary vocabulary;
};

void apply_lookup(const Lookup& lookup, Features& features, PhiloxStream&) {
  Array& feature = features.at(lookup.feature);
  require(feature.defined() && feature.dtype() == DType::u8 && feature.shape().rank() == 1,
          "feature `", lookup.feature, "` must be text, u8[length], got ", feature.type());
  std::span<const std::uint8_t> text = std::as_const(feature).span<std::uint8_t>();
  std::int64_t index = with_context(concat("feature `", lookup.feature, "`"), [&] {
    return lookup.vocabulary.index(std::string(text.begin(), text.end()));
  });
  feature = Array::scalar(index);
}

constexpr Definition<StringLookupOptions, Lookup> string_lookup_definition{
    .name = "string_lookup", .check = nullptr, .apply = apply_lookup};

const Registered registered{string_lookup_definition};

}  // namespace

Augmentation string_lookup(StringLookupOptions options) {
  return string_lookup_definition(std::move(options));
}

}  // namespace belfry::data
