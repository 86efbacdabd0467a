// Covers padded_batch.cpp and padding.cpp.
#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

// Element i is [i, i, ...] with lengths[i] values.
Dataset ragged(Values lengths) {
  auto count = std::ssize(lengths);
  return indexed(count, [=](std::int64_t i, Features& out) {
    out = {{"value", Array({lengths[static_cast<std::size_t>(i)]}, DType::i64)}};
    for (auto& x : out.at("value").span<std::int64_t>()) x = i;
  });
}

TEST(PaddedBatch, PadsToTheLongest) {
  Dataset data = ragged({1, 3, 0, 2, 2}) | padded_batch(3);
  EXPECT_EQ(words(data), (Words{"0,0,0,1,1,1,0,0,0", "3,3,4,4"}));
  InputStreamPtr stream = open(data);
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("value").shape(), (Shape{3, 3}));
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("value").shape(), (Shape{2, 2}));
  EXPECT_FALSE(stream->next(f));
  EXPECT_EQ(words(ragged({1, 3, 0, 2, 2}) | padded_batch(3, {.drop_remainder = true})),
            (Words{"0,0,0,1,1,1,0,0,0"}));
}

TEST(PaddedBatch, OfEqualShapesIsABatch) {
  EXPECT_EQ(words(range(5) | padded_batch(2)), (Words{"0,1", "2,3", "4"}));
  EXPECT_EQ(words(ragged({0, 0}) | padded_batch(2)), (Words{""}));
  EXPECT_EQ(words(range(0) | padded_batch(2)), Words{});
}

TEST(PaddedBatch, PadsEveryAxis) {
  auto batch = [](const Array& a, const Array& b, PaddedBatchOptions options = {}) {
    Dataset two = indexed(2, [=](std::int64_t i, Features& out) {
      out = {{"x", (i == 0 ? a : b).clone()}};
    });
    InputStreamPtr stream = open(two | padded_batch(2, options));
    Features f;
    stream->next(f);
    return f.at("x");
  };
  Array wide = Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Array high = Array::of<float>({7, 8, 9}, {3, 1});
  EXPECT_TRUE(identical(
      batch(wide, high),
      Array::of<float>({1, 2, 3, 4, 5, 6, 0, 0, 0, 7, 0, 0, 8, 0, 0, 9, 0, 0}, {2, 3, 3})));
  EXPECT_TRUE(
      identical(batch(wide, wide, {.default_padding = -1, .pad_to = {{"x", {-1, 4}}}}),
                Array::of<float>({1, 2, 3, -1, 4, 5, 6, -1, 1, 2, 3, -1, 4, 5, 6, -1}, {2, 2, 4})));
  Array cube = Array::of<std::uint8_t>({1, 2, 3, 4}, {2, 1, 2});
  Array flat = Array::of<std::uint8_t>({5, 6}, {1, 2, 1});
  EXPECT_TRUE(identical(
      batch(cube, flat, {.default_padding = 9}),
      Array::of<std::uint8_t>({1, 2, 9, 9, 3, 4, 9, 9, 5, 9, 6, 9, 9, 9, 9, 9}, {2, 2, 2, 2})));
}

TEST(PaddedBatch, FeaturesHavePaddingsOfTheirOwn) {
  Dataset data = ragged({1, 2}) | map([](Features in) {
                   Array mask = Array::zeros(in.at("value").shape(), DType::boolean);
                   return Features{{"value", in.at("value")}, {"mask", mask}};
                 });
  InputStreamPtr stream =
      open(data | padded_batch(2, {.default_padding = 1, .padding = {{"value", -7}}}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_TRUE(identical(f.at("value"), Array::of<std::int64_t>({0, -7, 1, 1}, {2, 2})));
  EXPECT_TRUE(identical(f.at("mask"), Array::of<bool>({false, true, false, false}, {2, 2})));
}

TEST(PaddedBatch, PaddingMustFitTheType) {
  auto bytes = ragged({1, 2}) | map([](Features in) {
                 return Features{{"value", in.at("value").cast(DType::u8)}};
               });
  EXPECT_EQ(words(bytes | padded_batch(2, {.padding = {{"value", 256}}})),
            (Words{"error: cannot pad and batch: u8 `value` cannot hold the padding 256"}));
  EXPECT_EQ(words(ragged({1, 2}) | padded_batch(2, {.default_padding = 0.5})),
            (Words{"error: cannot pad and batch: i64 `value` cannot hold the padding 0.5"}));
  // Where nothing is padded nothing needs to fit.
  EXPECT_EQ(words(ragged({1, 1}) | padded_batch(2, {.default_padding = 0.5})), (Words{"0,1"}));
}

TEST(PaddedBatch, SizesMayBeSet) {
  EXPECT_EQ(words(ragged({1, 2}) | padded_batch(2, {.pad_to = {{"value", {3}}}})),
            (Words{"0,0,0,1,1,0"}));
  EXPECT_EQ(words(ragged({1, 2, 4, 1}) | padded_batch(2, {.pad_to = {{"value", {3}}}})),
            (Words{"0,0,0,1,1,0",
                   "error: cannot pad and batch: value i64[4] is the longest in the batch, pad_to "
                   "has [3]"}));
  EXPECT_EQ(words(ragged({1}) | padded_batch(2, {.pad_to = {{"value", {3, 3}}}})),
            (Words{"error: cannot pad and batch: pad_to has 2 sizes for value i64[1]"}));
  EXPECT_EQ(error_of([] {
              padded_batch(2, {.pad_to = {{"value", {-2}}}});
            }),
            "padded_batch: sizes in pad_to must be at least 0, or -1 for the longest; got -2 for "
            "`value`");
  EXPECT_EQ(error_of([] { padded_batch(0); }), "padded_batch: size must be at least 1, got 0");
}

TEST(PaddedBatch, SizesMayBeRoundedUp) {
  auto length = [](Values lengths, PaddedBatchOptions options) {
    InputStreamPtr stream = open(ragged(lengths) | padded_batch(9, options));
    Features f;
    stream->next(f);
    return f.at("value").shape()[1];
  };
  EXPECT_EQ(length({1, 7}, {.multiple_of = {{"value", 4}}}), 8);
  EXPECT_EQ(length({1, 8}, {.multiple_of = {{"value", 4}}}), 8);
  EXPECT_EQ(length({0, 0}, {.multiple_of = {{"value", 4}}}), 0);
  EXPECT_EQ(length({1, 7}, {.pad_to = {{"value", {9}}}, .multiple_of = {{"value", 4}}}), 9);
  EXPECT_EQ(length({1, 7}, {.pad_to = {{"value", {-1}}}, .multiple_of = {{"value", 4}}}), 8);
  EXPECT_EQ(error_of([] {
              padded_batch(2, {.multiple_of = {{"value", 0}}});
            }),
            "padded_batch: multiple_of must be at least 1, got 0 for `value`");
  EXPECT_EQ(words(range(2) | padded_batch(2, {.multiple_of = {{"value", 4}}})),
            (Words{"error: cannot pad and batch: `value` is a scalar, but multiple_of names it"}));
}

TEST(PaddedBatch, TellsTheLengths) {
  InputStreamPtr stream =
      open(ragged({1, 3, 0}) | padded_batch(3, {.lengths = {{"value", "length"}}}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(to_string(signature_of(f)), "value i64[3, 3], length i64[3]");
  EXPECT_TRUE(identical(f.at("length"), Array::of<std::int64_t>({1, 3, 0})));
  EXPECT_EQ(words(ragged({1}) | padded_batch(1, {.lengths = {{"value", "value"}}})),
            (Words{"error: cannot pad and batch: there are two features `value`; give the lengths "
                   "of `value` another name"}));
  EXPECT_EQ(words(range(1) | padded_batch(1, {.lengths = {{"value", "n"}}})),
            (Words{"error: cannot pad and batch: `value` is a scalar and has no length"}));
}

TEST(PaddedBatch, RefusesNamesThatElementsLack) {
  const std::string unknown = "error: unknown feature `valeu`; this batch has value";
  for (const PaddedBatchOptions& options : {PaddedBatchOptions{.padding = {{"valeu", 1}}},
                                            PaddedBatchOptions{.pad_to = {{"valeu", {1}}}},
                                            PaddedBatchOptions{.multiple_of = {{"valeu", 1}}},
                                            PaddedBatchOptions{.lengths = {{"valeu", "n"}}}})
    EXPECT_EQ(words(ragged({1}) | padded_batch(1, options)), (Words{unknown}));
}

TEST(PaddedBatch, SaysWhichElementDoesNotFit) {
  auto with = [](Features odd) {
    return words(indexed(4,
                         [=](std::int64_t i, Features& out) {
                           out = i == 1 ? odd : Features{{"value", Array::zeros({2}, DType::i64)}};
                         })
                 | padded_batch(2));
  };
  EXPECT_EQ(with({{"value", Array::zeros({2, 3}, DType::i64)}}),
            (Words{"error: cannot pad and batch: row 0 has value i64[2], row 1 has value i64[2, 3]",
                   "0,0,0,0"}));
  EXPECT_EQ(with({{"value", Array::zeros({2})}})[0],
            "error: cannot pad and batch: row 0 has value i64[2], row 1 has value f32[2]");
  EXPECT_EQ(with({{"x", Array::zeros({2})}})[0],
            "error: cannot pad and batch: row 0 is (value i64[2]), row 1 is (x f32[2])");
}

TEST(PaddedBatch, AFailureCostsItsBatchAndNoOther) {
  Dataset data = range(8) | failing_at({2, 4}) | padded_batch(2);
  EXPECT_EQ(words(data), (Words{"0,1", "error: bad value 2 (at element 2, epoch 0)",
                                "error: bad value 4 (at element 4, epoch 0)", "6,7"}));
  EXPECT_EQ(named_words(data)[3], "3: 6,7");
  expect_resumes(data);
  expect_skips(data);
}

TEST(PaddedBatch, ResumesAnywhere) {
  Dataset data = ragged({1, 3, 0, 2, 2, 5, 1}) | padded_batch(2);
  expect_resumes(data | repeat(2));
  expect_resumes(data);
  expect_skips(data);
  expect_skips(ragged({1, 3, 0, 2, 2, 5, 1}) | padded_batch(2, {.drop_remainder = true}));
  EXPECT_EQ(data.cardinality(), 4);
  EXPECT_EQ((range(7) | padded_batch(2, {.drop_remainder = true})).cardinality(), 3);
  EXPECT_EQ((range(7) | repeat() | padded_batch(2)).cardinality(), infinite);
}

}  // namespace
}  // namespace belfry::data
