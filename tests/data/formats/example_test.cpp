// Covers framework/tensor/example.cpp, by the names that sources of data have for it.
#include "belfry/data/formats/example.h"

#include <bit>

#include "../../framework/base/resident_bytes.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/protobuf_wire.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

// {a: int64_list [1, 2, 300]}, as TensorFlow writes it: each length counts what follows it.
const ByteVector integers = hex("0a 0f  0a 0d  0a 01 61  12 08  1a 06  0a 04 01 02 ac 02");

// {f: float_list [1, -2.5], n: int64_list [-1], s: bytes_list ["hi", ""]}
const ByteVector three_kinds =
    hex("0a 37"
        "0a 11  0a 01 66  12 0c  12 0a  0a 08 00 00 80 3f 00 00 20 c0"
        "0a 13  0a 01 6e  12 0e  1a 0c  0a 0a ff ff ff ff ff ff ff ff ff 01"
        "0a 0d  0a 01 73  12 08  0a 06  0a 02 68 69  0a 00");

TEST(Example, ReadsWhatTensorFlowWrites) {
  EXPECT_EQ(Example::parse(integers), (Example{{{"a", Integers{1, 2, 300}}}}));
  EXPECT_EQ(Example::parse(three_kinds),
            (Example{{{"f", Floats{1, -2.5f}}, {"n", Integers{-1}}, {"s", Strings{"hi", ""}}}}));
}

TEST(Example, WritesTheSameBytes) {
  EXPECT_EQ((Example{{{"a", Integers{1, 2, 300}}}}).serialize(), integers);
  EXPECT_EQ((Example{{{"s", Strings{"hi", ""}}, {"n", Integers{-1}}, {"f", Floats{1, -2.5f}}}})
                .serialize(),
            three_kinds);
}

TEST(Example, EmptyOnesAreKeptApart) {
  EXPECT_EQ(Example().serialize(), ByteVector());
  EXPECT_EQ(Example::parse({}), Example());
  EXPECT_EQ(Example::parse(hex("0a 00")), Example());
  Example example{{{"f", Floats{}}, {"n", Integers{}}, {"s", Strings{}}, {"x", Feature()}}};
  ByteVector bytes =
      hex("0a 22"
          "0a 07 0a 01 66 12 02 12 00"
          "0a 07 0a 01 6e 12 02 1a 00"
          "0a 07 0a 01 73 12 02 0a 00"
          "0a 05 0a 01 78 12 00");
  EXPECT_EQ(example.serialize(), bytes);
  EXPECT_EQ(Example::parse(bytes), example);
}

TEST(Example, ReadsUnpackedAndMixedLists) {
  // int64_list: 1, packed [2, 300], 3; float_list: 1.0, packed [], packed [-2.5]
  EXPECT_EQ(Example::parse(hex("0a 14  0a 12  0a 01 61  12 0d  1a 0b"
                               "08 01  0a 03 02 ac 02  08 03  10 07")),
            (Example{{{"a", Integers{1, 2, 300, 3}}}}));
  EXPECT_EQ(Example::parse(hex("0a 16  0a 14  0a 01 61  12 0f  12 0d"
                               "0d 00 00 80 3f  0a 00  0a 04 00 00 20 c0")),
            (Example{{{"a", Floats{1, -2.5f}}}}));
}

TEST(Example, MergesPartsAsProtobufDoes) {
  using protobuf::WireWriter;
  WireWriter out;
  auto feature = [&](const char* name, std::uint64_t value) {
    out.message(1, [&] {
      out.text(1, name);
      out.message(2, [&] { out.message(3, [&] { out.varint(1, value); }); });
    });
  };
  out.message(1, [&] { feature("a", 1), feature("b", 2); });
  out.varint(7, 5);  // unknown
  out.message(1, [&] {
    feature("b", 3);
    out.message(1, [&] {  // the value first, in two parts, unknown fields between
      out.message(2, [&] { out.message(3, [&] { out.varint(1, 10); }); });
      out.fixed32(9, 1);
      out.text(1, "overwritten");
      out.message(2, [&] { out.message(3, [&] { out.varint(1, 11); }); });
      out.text(1, "c");
    });
    out.message(1, [&] {  // the last kind counts
      out.text(1, "d");
      out.message(2, [&] {
        out.message(3, [&] { out.varint(1, 10); });
        out.message(1, [&] { out.text(1, "x"); });
      });
    });
    out.message(1, [&] {});  // no name and no value
  });
  EXPECT_EQ(Example::parse(out.release()), (Example{{{"", Feature()},
                                                     {"a", Integers{1}},
                                                     {"b", Integers{3}},
                                                     {"c", Integers{10, 11}},
                                                     {"d", Strings{"x"}}}}));
}

TEST(Example, NamesTheFeatureWhoseBytesAreWrong) {
  EXPECT_EQ(
      error_of([] { Example::parse(hex("0a 0e  0a 0c  0a 01 66  12 07  12 05  0a 03 00 00 80")); }),
      "protobuf: at byte 16: before it stands a list of floats with 3 bytes, expected a "
      "multiple of 4 (in feature `f`)");
  EXPECT_EQ(error_of([] { Example::parse(hex("0a 05 0a 03 0a 01")); }),
            "protobuf: at byte 2: field 1 has 5 bytes, but 4 are left");
}

TEST(Example, EveryTruncationIsAnErrorOrAShorterExample) {
  for (std::size_t length = 1; length < three_kinds.size(); ++length)
    EXPECT_THAT(error_of([&] { Example::parse(first(three_kinds, length)); }),
                StartsWith("protobuf: at byte "));
}

SequenceExample two_steps() {
  return {
      .context = {{"id", Integers{7}}},
      .feature_lists = {{"x", {Floats{1, 2}, Floats{3, 4}}}, {"y", {Integers{5}, Integers{6}}}}};
}

TEST(SequenceExample, HasTheBytesOfTheWireFormat) {
  SequenceExample example{.context = {{"i", Integers{7}}},
                          .feature_lists = {{"y", {Integers{5}, Integers{6}}}}};
  ByteVector bytes =
      hex("0a 0c  0a 0a  0a 01 69  12 05  1a 03  0a 01 07"
          "12 15  0a 13  0a 01 79  12 0e  0a 05 1a 03 0a 01 05  0a 05 1a 03 0a 01 06");
  EXPECT_EQ(example.serialize(), bytes);
  EXPECT_EQ(SequenceExample::parse(bytes), example);
  EXPECT_EQ(SequenceExample::parse(two_steps().serialize()), two_steps());
  EXPECT_EQ(SequenceExample().serialize(), ByteVector());
}

TEST(Example, AnyBytesGiveAnExampleOrAnError) {
  ByteVector sequence = two_steps().serialize();
  int parsed = 0;
  auto parse = [&](const ByteVector& bad) {
    if (error_of([&] { Example::parse(Example::parse(bad).serialize()); }) == "no error") ++parsed;
    error_of([&] { SequenceExample::parse(bad); });
  };
  for_mutations(three_kinds, 5'000, parse);
  for_mutations(sequence, 5'000, parse);
  EXPECT_GT(parsed, 100);
  EXPECT_LT(parsed, 9'900);
}

Features parse(const Example& example, const ExampleSpec& spec) {
  return parse_example(example.serialize(), spec);
}

/// The error of reading a feature x.
std::string error_with(const Feature& feature, std::variant<FixedLen, VarLen, StringList> spec) {
  return error_of([&] { parse({{{"x", feature}}}, {{"x", spec}}); });
}

TEST(ParseExample, GivesArraysInTheOrderOfTheSpec) {
  Example example{{{"size", Floats{1, 2, 3, 4}},
                   {"label", Integers{3}},
                   {"tokens", Integers{5, 6, 7}},
                   {"jpeg", Strings{"\xff\xd8"}},
                   {"raw", Strings{"abcd"}},
                   {"unused", Strings{"a", "b"}}}};
  Features out = parse(example, {{"label", FixedLen{.dtype = DType::i64}},
                                 {"jpeg", VarLen{DType::u8}},
                                 {"tokens", VarLen{DType::i64}},
                                 {"size", FixedLen{.shape = {2, 2}}},
                                 {"raw", FixedLen{.shape = {2, 2, 1}, .dtype = DType::u8}}});
  EXPECT_EQ(to_string(signature_of(out)),
            "label i64[], jpeg u8[2], tokens i64[3], size f32[2, 2], raw u8[2, 2, 1]");
  EXPECT_TRUE(identical(out.at("label"), Array::scalar<std::int64_t>(3)));
  EXPECT_TRUE(identical(out.at("jpeg"), Array::of<std::uint8_t>({0xff, 0xd8})));
  EXPECT_TRUE(identical(out.at("tokens"), Array::of<std::int64_t>({5, 6, 7})));
  EXPECT_TRUE(identical(out.at("size"), Array::of<float>({1, 2, 3, 4}, {2, 2})));
  EXPECT_TRUE(identical(out.at("raw"), Array::of<std::uint8_t>({97, 98, 99, 100}, {2, 2, 1})));
}

TEST(ParseExample, DefaultsStandInForWhatIsMissing) {
  Array pair = Array::of<float>({1, 2});
  // A feature without a kind counts as missing, one without values does not.
  Features out = parse({{{"unset", Feature()}}},
                       {{"unset", FixedLen{.shape = {2}, .default_value = pair}},
                        {"one", FixedLen{.shape = {3},
                                         .dtype = DType::i64,
                                         .default_value = Array::scalar<std::int64_t>(-1)}},
                        {"none", FixedLen{.shape = {0}, .default_value = Array::scalar(1.0f)}},
                        {"any", VarLen{}}});
  EXPECT_TRUE(identical(out.at("unset"), pair));
  EXPECT_TRUE(identical(out.at("one"), Array::of<std::int64_t>({-1, -1, -1})));
  EXPECT_EQ(out.at("none").shape(), Shape({0}));
  EXPECT_EQ(out.at("any").type(), (TensorType{{0}, DType::f32}));
  out.at("unset").span<float>()[0] = 9;
  EXPECT_EQ(pair.at(0), 1) << "the default is copied";
  EXPECT_EQ(
      error_with(Floats{}, FixedLen{.shape = {2}, .default_value = pair}),
      "feature `x`: it has 0 values, expected 2 for the shape [2]; a VarLen takes any number");
  EXPECT_EQ(parse({{{"x", Floats{}}}}, {{"x", VarLen{}}}).at("x").shape(), Shape({0}));
  EXPECT_EQ(parse({{{"x", Strings{}}}}, {{"x", VarLen{DType::u8}}}).at("x").shape(), Shape({0}));
}

// It says nothing against the message: on_error() lets it pass.
TEST(ParseExample, AShortageOfMemoryStaysOne) {
  if (freed_memory_is_kept) GTEST_SKIP() << "a sanitizer ends the program instead";
  FixedLen huge{.shape = {std::int64_t{1} << 48}, .default_value = Array::scalar(0.0f)};
  EXPECT_THROW(parse({}, {{"x", huge}}), OutOfMemory);
}

TEST(ParseExample, NamesTheFeatureThatDoesNotFit) {
  EXPECT_EQ(error_of([] {
              parse({}, {{"x", FixedLen{}}});
            }),
            "feature `x`: it is missing, and the spec has no default");
  EXPECT_EQ(
      error_with(Floats{1, 2, 3}, FixedLen{.shape = {2}}),
      "feature `x`: it has 3 values, expected 2 for the shape [2]; a VarLen takes any number");
  EXPECT_EQ(error_with(Strings{"abc"}, FixedLen{.dtype = DType::u8}),
            "feature `x`: it has 3 bytes, expected 1 for the shape []; a VarLen takes any number");
  std::string kinds = "; floats are f32, integers are i64, and a string is u8";
  EXPECT_EQ(error_with(Floats{1}, VarLen{DType::i64}),
            "feature `x`: it has floats, which are not i64" + kinds);
  EXPECT_EQ(error_with(Integers{1}, FixedLen{}),
            "feature `x`: it has integers, which are not f32" + kinds);
  EXPECT_EQ(error_with(Strings{"a"}, FixedLen{}),
            "feature `x`: it has strings, which are not f32" + kinds);
  EXPECT_EQ(error_with(Strings{"a", "b"}, VarLen{DType::u8}),
            "feature `x`: it has 2 strings, expected one; a StringList takes any number of them");
  EXPECT_EQ(error_with(Floats{1}, VarLen{DType::bf16}),
            "feature `x`: the spec asks for bf16, expected f32, i64 or u8; cast afterwards");
  EXPECT_EQ(
      error_with(Feature(), FixedLen{.shape = {3}, .default_value = Array::of<float>({1, 2})}),
      "feature `x`: the default is f32[2], expected f32[3] or one value of that type");
  EXPECT_EQ(error_with(Feature(), FixedLen{.default_value = Array::scalar<std::int64_t>(1)}),
            "feature `x`: the default is i64[], expected f32[] or one value of that type");
  EXPECT_EQ(error_of([] {
              parse({}, {{"x", VarLen{}}, {"x", VarLen{}}});
            }),
            "feature `x`: the spec names it twice");
}

TEST(ParseExample, LooksOnlyIntoTheFeaturesOfTheSpec) {
  // float_list of 3 bytes in f
  ByteVector bytes = hex("0a 0e  0a 0c  0a 01 66  12 07  12 05  0a 03 00 00 80");
  EXPECT_EQ(parse_example(bytes, {{"g", VarLen{}}}).at("g").elements(), 0);
  EXPECT_THAT(error_of([&] {
                parse_example(bytes, {{"f", VarLen{}}});
              }),
              HasSubstr("list of floats with 3 bytes"));
}

// Written by TensorFlow 2.21, with SerializeToString(deterministic=True): an Example of words:
// "the",
// "", "\u00e9t\u00e9".
const ByteVector three_words =
    hex("0a 1b 0a 19 0a 05 77 6f 72 64 73 12 10 0a 0e 0a 03 74 68 65 0a 00 0a 05 c3 a9 74 c3 a9");

// A SequenceExample of context words: "a", "bc", and the lists text: "hi", "there", and tokens:
// [5, 6, 7], [], [8], a Feature without a kind.
const ByteVector ragged_steps =
    hex("0a 14 0a 12 0a 05 77 6f 72 64 73 12 09 0a 07 0a 01 61 0a 02 62 63 12 3f 0a 1b 0a 04 74 65"
        "78 74 12 13 0a 06 0a 04 0a 02 68 69 0a 09 0a 07 0a 05 74 68 65 72 65 0a 20 0a 06 74 6f 6b"
        "65 6e 73 12 16 0a 07 1a 05 0a 03 05 06 07 0a 02 1a 00 0a 05 1a 03 0a 01 08 0a 00");

TEST(ParseExample, ReadsListsOfStrings) {
  Features out = parse_example(three_words, {{"words", StringList{}}, {"none", StringList{}}});
  EXPECT_EQ(to_string(signature_of(out)),
            "words/values u8[8], words/lengths i64[3], none/values u8[0], none/lengths i64[0]");
  EXPECT_EQ(text_of(out.at("words/values").raw_bytes()), "the\xc3\xa9t\xc3\xa9");
  EXPECT_TRUE(identical(out.at("words/lengths"), Array::of<std::int64_t>({3, 0, 5})));
  EXPECT_EQ(error_with(Floats{1}, StringList{}),
            "feature `x`: it has floats, which are not u8; floats are f32, integers are i64, and a "
            "string is u8");
  EXPECT_EQ(error_of([] {
              parse_example(three_words, {{"words", StringList{}}, {"words", StringList{}}});
            }),
            "feature `words`: the spec names it twice");
}

TEST(ParseSequenceExample, ReadsStepsOfAnyLength) {
  Features out =
      parse_sequence_example(ragged_steps, {.context = {{"words", StringList{}}},
                                            .feature_lists = {},
                                            .var_len_lists = {{"tokens", {.dtype = DType::i64}},
                                                              {"text", {.dtype = DType::u8}},
                                                              {"none", {.allow_missing = true}}}});
  EXPECT_EQ(
      to_string(signature_of(out)),
      "words/values u8[3], words/lengths i64[2], tokens/values i64[4], tokens/lengths i64[4], "
      "text/values u8[7], text/lengths i64[2], none/values f32[0], none/lengths i64[0]");
  EXPECT_TRUE(identical(out.at("tokens/values"), Array::of<std::int64_t>({5, 6, 7, 8})));
  EXPECT_TRUE(identical(out.at("tokens/lengths"), Array::of<std::int64_t>({3, 0, 1, 0})));
  EXPECT_EQ(text_of(out.at("text/values").raw_bytes()), "hithere");
  EXPECT_TRUE(identical(out.at("text/lengths"), Array::of<std::int64_t>({2, 5})));

  auto error_for = [](const char* name, const VarLenSequence& wanted) {
    return error_of([&] {
      parse_sequence_example(
          ragged_steps, {.context = {}, .feature_lists = {}, .var_len_lists = {{name, wanted}}});
    });
  };
  EXPECT_EQ(error_for("tokens", {}),
            "feature `tokens`: it has integers, which are not f32; floats are f32, integers are "
            "i64, and a string is u8 (at step 0)");
  EXPECT_EQ(error_for("gone", {}),
            "feature `gone`: the list is missing, and the spec does not allow that");
}

TEST(ParseSequenceExample, StacksTheSteps) {
  Features out = parse_sequence_example(
      two_steps().serialize(), {.context = {{"id", FixedLen{.dtype = DType::i64}}},
                                .feature_lists = {{"y", {.dtype = DType::i64}},
                                                  {"x", {.shape = {2, 1}}},
                                                  {"z", {.shape = {4}, .allow_missing = true}}}});
  EXPECT_EQ(to_string(signature_of(out)), "id i64[], y i64[2], x f32[2, 2, 1], z f32[0, 4]");
  EXPECT_TRUE(identical(out.at("id"), Array::scalar<std::int64_t>(7)));
  EXPECT_TRUE(identical(out.at("y"), Array::of<std::int64_t>({5, 6})));
  EXPECT_TRUE(identical(out.at("x"), Array::of<float>({1, 2, 3, 4}, {2, 2, 1})));
}

TEST(ParseSequenceExample, NamesFeatureAndStep) {
  auto error_for = [](const FixedLenSequence& wanted, const char* name = "x") {
    SequenceExampleSpec spec{.context = {{"id", VarLen{DType::i64}}},
                             .feature_lists = {{name, wanted}}};
    SequenceExample example = two_steps();
    example.feature_lists["x"].push_back(Floats{5});
    return error_of([&] { parse_sequence_example(example.serialize(), spec); });
  };
  EXPECT_EQ(
      error_for({.shape = {2}}),
      "feature `x`: it has 1 values, expected 2 for the shape [2]; a VarLenSequence takes any "
      "number (at step 2)");
  EXPECT_THAT(error_for({.dtype = DType::i64}),
              StartsWith("feature `x`: it has floats, which are not i64; "));
  EXPECT_EQ(error_for({}, "z"),
            "feature `z`: the list is missing, and the spec does not allow that");
  EXPECT_EQ(error_for({}, "id"), "feature `id`: the spec names it twice");
}

TEST(ParseSequenceExample, ManyEmptyStepsTakeNoMemory) {
  // Two bytes a step in the message; as arrays they would have been 200 GB.
  SequenceExample example{.context = {}, .feature_lists = {{"x", std::vector<Feature>(50'000)}}};
  EXPECT_THAT(error_of([&] {
                parse_sequence_example(
                    example.serialize(),
                    {.context = {}, .feature_lists = {{"x", {.shape = {1'000'000}}}}});
              }),
              StartsWith("feature `x`: it has no values, which are not f32"));
}

}  // namespace
}  // namespace belfry::data
