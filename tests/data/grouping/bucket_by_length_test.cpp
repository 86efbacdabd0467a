#include <set>

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

// Element i has a length from 0 to 11, as if at random.
Dataset many(std::int64_t count) {
  Values lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(i * i * 7 % 12);
  return ragged(lengths);
}

// The elements of each batch: "0 2 4".
Words groups(const Dataset& data) {
  Words out;
  InputStreamPtr stream = open(data);
  for (Features f; stream->next(f);) {
    std::string word;
    for (std::int64_t row = 0; row < f.at("id").shape()[0]; ++row)
      word += concat(word.empty() ? "" : " ", f.at("id").at(row));
    out.push_back(word);
  }
  return out;
}

Transform with_id() {
  return map([](Features in) {
    const Array& value = in.at("value");
    in.set("id", Array::scalar(value.elements() > 0 ? value.span<std::int64_t>()[0] : -1));
    return in;
  });
}

TEST(BucketByLength, BatchesElementsOfSimilarLength) {
  // Lengths below 3, from 3 to 4, from 5 on.
  Dataset data = ragged({1, 3, 9, 2, 4, 5, 1, 2, 3})
                 | bucket_by_length("value", {.boundaries = {3, 5}, .batch_sizes = {3, 2, 2}});
  EXPECT_EQ(groups(ragged({1, 3, 9, 2, 4, 5, 1, 2, 3}) | with_id()
                   | bucket_by_length("value", {.boundaries = {3, 5}, .batch_sizes = {3, 2, 2}})),
            (Words{"1 4", "2 5", "0 3 6", "7", "8"}));
  EXPECT_EQ(words(data), (Words{"1,1,1,0,4,4,4,4", "2,2,2,2,2,2,2,2,2,5,5,5,5,5,0,0,0,0",
                                "0,0,3,3,6,0", "7,7", "8,8,8"}));
  EXPECT_EQ(named_words(data)[2], "2: 0,0,3,3,6,0");
}

TEST(BucketByLength, MayDropWhatIsNotFull) {
  EXPECT_EQ(groups(ragged({1, 3, 9, 2, 4, 5, 1, 2, 3}) | with_id()
                   | bucket_by_length("value", {.boundaries = {3, 5},
                                                .batch_sizes = {3, 2, 2},
                                                .padded = {.drop_remainder = true}})),
            (Words{"1 4", "2 5", "0 3 6"}));
}

TEST(BucketByLength, TakesAnyLength) {
  auto last_digit = [](const Features& f) {
    return static_cast<std::int64_t>(f.at("value").at(0)) % 10;
  };
  EXPECT_EQ(words(range(24) | skip(8)
                  | bucket_by_length(last_digit, {.boundaries = {2, 4}, .batch_sizes = {2, 3, 4}})),
            (Words{"10,11", "8,9,14,15", "16,17,18,19", "20,21", "12,13,22", "23"}));
  EXPECT_EQ(words(range(5) | bucket_by_length(last_digit, {.boundaries = {}, .batch_sizes = {3}})),
            (Words{"0,1,2", "3,4"}));
}

TEST(BucketByLength, MayPadToTheBoundary) {
  Dataset data = ragged({1, 0, 3, 3, 1})
                 | bucket_by_length("value", {.boundaries = {3, 5},
                                              .batch_sizes = {2, 2, 2},
                                              .padded = {.default_padding = 9},
                                              .pad_to_boundary = {"value"}});
  EXPECT_EQ(words(data), (Words{"0,9,9,9", "2,2,2,9,3,3,3,9", "4,9"}));
  EXPECT_EQ(words(ragged({1, 5, 1})
                  | bucket_by_length("value", {.boundaries = {3, 5},
                                               .batch_sizes = {2, 2, 2},
                                               .pad_to_boundary = {"value"}})),
            (Words{"error: bucket_by_length: the length 5 is not below the last boundary, to which "
                   "pad_to_boundary pads (at element 1, epoch 0)",
                   "0,0,2,0"}));
}

TEST(BucketByLength, BatchSizesMayFollowFromTokens) {
  // Rows of up to 2, 4 and 6 values: 13 / 2 = 6, 13 / 4 = 3 and 13 / 6 = 2 of them.
  BucketOptions options{.boundaries = {3, 5, 7}, .tokens = 13};
  Dataset data = ragged({1, 4, 6, 2, 3, 5, 4, 2, 1, 2, 1, 1}) | with_id();
  EXPECT_EQ(groups(data | bucket_by_length("value", options)),
            (Words{"2 5", "1 4 6", "0 3 7 8 9 10", "11"}));
  // The length may be any function's.
  auto length = [](const Features& f) { return f.at("value").shape()[0]; };
  EXPECT_EQ(groups(data | bucket_by_length(length, options)),
            groups(data | bucket_by_length("value", options)));
  options.tokens = 6;
  EXPECT_EQ(groups(data | bucket_by_length("value", options)),
            (Words{"1", "2", "4", "5", "6", "0 3 7", "8 9 10", "11"}));
  expect_resumes_everywhere(many(60)
                            | bucket_by_length("value", {.boundaries = {2, 6, 9}, .tokens = 20}));
}

TEST(BucketByLength, PaddedRowsAreNotMoreThanTheTokens) {
  BucketOptions options{.boundaries = {4, 9, 12},
                        .tokens = 48,
                        .padded = {.drop_remainder = true},
                        .pad_to_boundary = {"value"}};
  auto shapes_of = [](const BucketOptions& o) {
    std::set<std::string> out;
    Values lengths;
    for (std::int64_t i = 0; i < 200; ++i) lengths.push_back(i * 5 % 12);
    InputStreamPtr stream = open(ragged(lengths) | bucket_by_length("value", o));
    for (Features batch; stream->next(batch);) {
      const Shape& shape = batch.at("value").shape();
      EXPECT_LE(shape[0] * shape[1], o.tokens);
      out.insert(to_string(shape));
    }
    return out;
  };
  // Lengths up to 3, 8 and 11: one shape, so one plan, each.
  EXPECT_EQ(shapes_of(options), (std::set<std::string>{"[16, 3]", "[6, 8]", "[4, 11]"}));
  // Padding to a multiple counts: 4, 8 and 12.
  options.pad_to_boundary = {};
  options.padded.multiple_of = {{"value", 4}};
  EXPECT_EQ(shapes_of(options), (std::set<std::string>{"[12, 4]", "[6, 8]", "[4, 12]"}));
  options.padded.pad_to = {{"value", {-1}}};
  EXPECT_EQ(shapes_of(options), (std::set<std::string>{"[12, 4]", "[6, 8]", "[4, 12]"}));
  options.padded.pad_to = {{"value", {16}}};
  EXPECT_EQ(shapes_of(options), (std::set<std::string>{"[3, 16]"}));
  // Where it is padded to the boundary, neither counts.
  options.pad_to_boundary = {"value"};
  EXPECT_EQ(shapes_of(options), (std::set<std::string>{"[16, 3]", "[6, 8]", "[4, 11]"}));
}

TEST(BucketByLength, WithTokensTheLastBoundaryIsAboveAll) {
  EXPECT_EQ(
      words(ragged({1, 3, 0, 2}) | bucket_by_length("value", {.boundaries = {1, 3}, .tokens = 2})),
      (Words{"0",
             "error: bucket_by_length: the length 3 is not below the last boundary, 3, as it "
             "has to be with tokens (at element 1, epoch 0)",
             "3,3", ""}));
  auto error = [](BucketOptions options) {
    return error_of([&] { bucket_by_length("value", options); });
  };
  EXPECT_EQ(error({.boundaries = {3}, .batch_sizes = {2, 2}, .tokens = 8}),
            "bucket_by_length: batch sizes follow from tokens; give one of the two");
  EXPECT_EQ(error({.boundaries = {}, .tokens = 8}),
            "bucket_by_length: tokens need a boundary, above the longest element");
  EXPECT_EQ(error({.boundaries = {3}, .tokens = -8}),
            "bucket_by_length: tokens must be at least 1, or 0 for batch_sizes, got -8");
  EXPECT_EQ(error({.boundaries = {0, 3}, .tokens = 8}),
            "bucket_by_length: tokens need boundaries of at least 1, got 0");
  EXPECT_EQ(error({.boundaries = {3, 10}, .tokens = 8}),
            "bucket_by_length: 8 tokens hold no row of 9, as there may be below the boundary 10");
  EXPECT_EQ(error({.boundaries = {8}, .tokens = 7}), "no error");
  EXPECT_EQ(
      error({.boundaries = {8}, .tokens = 7, .padded = {.multiple_of = {{"value", 4}}}}),
      "bucket_by_length: 7 tokens hold no row of 7 and its padding of 1, as there may be below "
      "the boundary 8");
}

TEST(BucketByLength, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] {
              bucket_by_length("x", {.boundaries = {3, 3}, .batch_sizes = {1, 1, 1}});
            }),
            "bucket_by_length: boundaries must rise, got 3, 3");
  EXPECT_EQ(error_of([] { bucket_by_length("x", {.boundaries = {3}, .batch_sizes = {1}}); }),
            "bucket_by_length: 1 boundaries make 2 buckets, but there are 1 batch sizes");
  EXPECT_EQ(error_of([] {
              bucket_by_length("x", {.boundaries = {3}, .batch_sizes = {1, 0}});
            }),
            "bucket_by_length: batch sizes must be at least 1, got 0");
  EXPECT_EQ(
      error_of([] {
        bucket_by_length("x", {.boundaries = {0}, .batch_sizes = {1, 1}, .pad_to_boundary = {"x"}});
      }),
      "bucket_by_length: pad_to_boundary needs boundaries of at least 1, got 0");
  EXPECT_EQ(error_of([] {
              bucket_by_length(
                  "x",
                  {.boundaries = {}, .batch_sizes = {1}, .padded = {.multiple_of = {{"x", 0}}}});
            }),
            "bucket_by_length: multiple_of must be at least 1, got 0 for `x`");
  BucketOptions one{.boundaries = {}, .batch_sizes = {2}};
  EXPECT_EQ(words(range(1) | bucket_by_length("value", one)),
            (Words{"error: bucket_by_length: `value` is a scalar and has no length (at element 0, "
                   "epoch 0)"}));
  EXPECT_EQ(words(range(1) | bucket_by_length("x", one)),
            (Words{"error: unknown feature `x`; this batch has value (at element 0, epoch 0)"}));
}

TEST(BucketByLength, AFailureIsDeliveredAtOnceAndCostsNothingElse) {
  auto parity = [](const Features& f) {
    auto value = static_cast<std::int64_t>(f.at("value").at(0));
    require(value != 5, "no length");
    return value % 2;
  };
  Dataset data = range(9) | failing_at({3})
                 | bucket_by_length(parity, {.boundaries = {1}, .batch_sizes = {2, 2}});
  EXPECT_EQ(named_words(data),
            (Words{"0: 0,2", "3: error: bad value 3 (at element 3, epoch 0)",
                   "5: error: no length (at element 5, epoch 0)", "1: 4,6", "2: 1,7", "3: 8"}));
  expect_resumes_everywhere(data);
  expect_skips(data);
}

TEST(BucketByLength, ARowThatDoesNotFitFailsItsBatch) {
  Dataset uneven = indexed(4, [](std::int64_t i, Features& out) {
    out = {{"value", Array::zeros(i == 1 ? Shape{1, 1} : Shape{1}, DType::i64)}};
  });
  Dataset data = uneven | bucket_by_length("value", {.boundaries = {}, .batch_sizes = {2}});
  EXPECT_EQ(words(data),
            (Words{"error: cannot pad and batch: row 0 has value i64[1], row 1 has value i64[1, 1]",
                   "0,0"}));
  expect_resumes_everywhere(data);
}

TEST(BucketByLength, ResumesAnywhere) {
  BucketOptions options{.boundaries = {2, 5, 8}, .batch_sizes = {4, 3, 5, 2}};
  auto value = [](const Features& f) { return static_cast<std::int64_t>(f.at("value").at(0)) % 9; };
  expect_resumes_everywhere(many(60) | bucket_by_length("value", options));
  expect_resumes_everywhere(many(60) | failing_at({}) | shuffle(60)
                            | bucket_by_length("value", options) | repeat(2));
  expect_resumes_everywhere(streamed(60) | failing_at({4, 5, 31}) | bucket_by_length(value, options)
                            | repeat(2));
  expect_resumes_everywhere(range(40) | repeat() | shuffle(10) | bucket_by_length(value, options));
  options.padded.drop_remainder = true;
  expect_resumes_everywhere(many(60) | bucket_by_length("value", options) | repeat(2));
  expect_resumes_everywhere(range(0) | bucket_by_length("value", options));
  expect_skips(many(60) | bucket_by_length("value", options));
}

TEST(BucketByLength, ReadsAgainOnlyWhatWaits) {
  auto reads = std::make_shared<Values>();
  auto parity = [](const Features& f) {  // of two elements in ten the length is 1
    return static_cast<std::int64_t>(f.at("value").at(0)) % 10 / 8;
  };
  Dataset data = range(100) | map([=](Features in) {
                   reads->push_back(in.at("value").span<std::int64_t>()[0]);
                   return in;
                 })
                 | bucket_by_length(parity, {.boundaries = {1}, .batch_sizes = {3, 5}});
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 4), (Words{"0,1,2", "3,4,5", "6,7,10", "11,12,13"}));
  EXPECT_THAT(stream->save(),
              ::testing::EndsWith("bucket.index=4 bucket.waiting=2,0,1 bucket.read=6 "
                                  "indexed.size=100 indexed.next=8"));
  InputStreamPtr resumed = open(data);
  reads->clear();
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed, 1), (Words{"14,15,16"}));
  EXPECT_EQ(*reads, (Values{8, 9, 14, 15, 16}));
}

TEST(BucketByLength, RefusesPositionsInWhichNothingCanWaitSo) {
  Dataset data = many(60) | bucket_by_length("value", {.boundaries = {1}, .batch_sizes = {3, 5}});
  auto error = [&](const std::string& waiting) {
    const std::string saved = open(data)->save();
    const std::string name = "bucket.waiting=";
    return error_of(
        [&] { open(data)->restore(saved.substr(0, saved.find(name)) + name + waiting); });
  };
  const std::string damaged = "input: the saved position is damaged: bucket.waiting has ";
  EXPECT_EQ(error("2,4,1 bucket.read=5"), damaged + "1, expected 5 to 4");
  EXPECT_EQ(error("2,1,1 bucket.read=5"), damaged + "1, expected 2 to 4");
  EXPECT_EQ(error("2,0,5 bucket.read=5"), damaged + "5, expected 1 to 4");
}

TEST(BucketByLength, HasAnUnknownEnd) {
  BucketOptions one{.boundaries = {}, .batch_sizes = {2}};
  EXPECT_EQ((range(5) | bucket_by_length("value", one)).cardinality(), unknown);
  EXPECT_EQ((range(0) | bucket_by_length("value", one)).cardinality(), 0);
  EXPECT_EQ((range(5) | repeat() | bucket_by_length("value", one)).cardinality(), infinite);
}

}  // namespace
}  // namespace belfry::data
