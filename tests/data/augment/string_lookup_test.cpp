#include <gmock/gmock.h>

#include "augment/images.h"
#include "belfry/data/formats/csv.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

Array text(std::string_view words) {
  Array out({std::ssize(words)}, DType::u8);
  std::ranges::copy(words, out.span<std::uint8_t>().begin());
  return out;
}

std::int64_t index_of(const StringLookupOptions& options, std::string_view word) {
  Features out = string_lookup(options).apply({{options.feature, text(word)}});
  EXPECT_EQ(out.at(options.feature).type(), (TensorType{{}, DType::i64}));
  return out.at(options.feature).span<std::int64_t>()[0];
}

TEST(StringLookup, GivesTheIndexInTheVocabulary) {
  StringLookupOptions colors{.feature = "color", .vocabulary = {"red", "", "dark blue"}};
  EXPECT_EQ(index_of(colors, "red"), 0);
  EXPECT_EQ(index_of(colors, ""), 1);
  EXPECT_EQ(index_of(colors, "dark blue"), 2);
  colors.unknown = 7;
  EXPECT_EQ(index_of(colors, "Red"), 7);
}

TEST(StringLookup, IsWhatAColumnOfCsvGives) {
  CsvReader reader({{.name = "w", .vocabulary = {"a", "b"}, .buckets = 1000}});
  StringLookupOptions options{.feature = "w", .vocabulary = {"a", "b"}, .buckets = 1000};
  std::string_view rest = "w\na\nb\nsomething\nelse\n";
  std::vector<std::string> words{"a", "b", "something", "else"};
  Features record;
  for (std::size_t i = 0; reader.next(rest, true, record); ++i)
    EXPECT_EQ(index_of(options, words.at(i)), record.at("w").span<std::int64_t>()[0]) << words[i];
}

TEST(StringLookup, IsReadBackFromJson) {
  Augmentation lookup =
      string_lookup({.feature = "w", .vocabulary = {"\"", "b"}, .unknown = 1, .buckets = 0});
  EXPECT_EQ(
      lookup.json(),
      R"({"name":"string_lookup","feature":"w","vocabulary":["\"","b"],"unknown":1,"buckets":0})");
  EXPECT_EQ(augmentation_from_json(lookup.json()).json(), lookup.json());
  EXPECT_EQ(augmentation_from_json(lookup.json())
                .apply({{"w", text("c")}})
                .at("w")
                .span<std::int64_t>()[0],
            1);
}

TEST(StringLookup, LeavesOtherFeaturesAlone) {
  Features in{{"x", Array::scalar(1.5f)}, {"w", text("a")}, {"y", text("a")}};
  Features out = string_lookup({.feature = "w", .vocabulary = {"a"}}).apply(in);
  EXPECT_TRUE(identical(out.at("x"), in.at("x")));
  EXPECT_TRUE(identical(out.at("y"), in.at("y")));
}

TEST(StringLookup, RefusesWhatHasNoIndex) {
  auto error = [](const StringLookupOptions& o) { return error_of([&] { string_lookup(o); }); };
  EXPECT_EQ(error({.vocabulary = {"a"}}),
            "string_lookup: the option feature must be given, the name of a text");
  EXPECT_EQ(error({.feature = "w"}),
            "string_lookup: no word has an index; give a vocabulary, or buckets");
  EXPECT_EQ(error({.feature = "w", .vocabulary = {"a", "a"}}),
            "string_lookup: the vocabulary has `a` twice");
  EXPECT_EQ(error({.feature = "w", .unknown = -2, .buckets = 2}),
            "string_lookup: unknown must be an index from 0, or -1 for none, got -2");
  EXPECT_EQ(error({.feature = "w", .unknown = 0, .buckets = 2}),
            "string_lookup: 2 buckets beside .unknown; give one of the two");
  Augmentation lookup = string_lookup({.feature = "w", .vocabulary = {"a"}});
  EXPECT_EQ(
      error_of([&] {
        lookup.apply({{"w", text("b")}});
      }),
      "string_lookup: `b` is not in the vocabulary of 1 words; add it, or set .unknown to give "
      "such words an index (feature `w`)");
  EXPECT_EQ(error_of([&] {
              lookup.apply({{"w", Array::scalar(1.0f)}});
            }),
            "string_lookup: feature `w` must be text, u8[length], got f32[]");
  EXPECT_THAT(error_of([&] { lookup.apply({{"v", text("a")}}); }), HasSubstr("`w`"));
}

}  // namespace
}  // namespace belfry::data
