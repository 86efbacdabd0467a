#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

TEST(AssertCardinality, SaysWhatNobodyElseKnows) {
  Dataset data = streamed(4) | assert_cardinality(4);
  EXPECT_EQ(data.cardinality(), 4);
  EXPECT_EQ(values(data), counting(0, 4));
  EXPECT_EQ((streamed(4) | assert_cardinality(infinite)).cardinality(), infinite);
  EXPECT_EQ(values(streamed(0) | assert_cardinality(0)), Values{});
}

TEST(AssertCardinality, IsBrokenByTooFew) {
  EXPECT_EQ(words(streamed(2) | assert_cardinality(4)),
            (Words{"0", "1", "error: assert_cardinality: expected 4 elements, got 2 elements"}));
  EXPECT_EQ(words(streamed(1) | assert_cardinality(infinite)),
            (Words{"0", "error: assert_cardinality: expected no end, got 1 element"}));
}

TEST(AssertCardinality, IsBrokenByTooMany) {
  for (std::int64_t there : {3, 30})
    EXPECT_EQ(words(streamed(there) | assert_cardinality(2)),
              (Words{"0", "1",
                     "error: assert_cardinality: expected 2 elements, got at least 3 elements"}));
}

TEST(AssertCardinality, EndsForGoodOnceBroken) {
  for (std::int64_t expected : {1, 5}) {
    InputStreamPtr stream = open(streamed(3) | assert_cardinality(expected));
    words(*stream);
    Features f;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream->next(f));
  }
}

TEST(AssertCardinality, ContradictsAtOnceWhereItCan) {
  EXPECT_EQ(error_of([] { range(3) | assert_cardinality(4); }),
            "assert_cardinality: expected 4 elements, but range has 3 elements");
  EXPECT_EQ(error_of([] { range(3) | repeat() | assert_cardinality(4); }),
            "assert_cardinality: expected 4 elements, but repeat has no end");
  EXPECT_EQ(error_of([] { assert_cardinality(unknown); }),
            "assert_cardinality: expected a count or data::infinite, got -2");
  EXPECT_TRUE((range(3) | assert_cardinality(3)).info().random_access);
}

TEST(AssertCardinality, CountsElementsThatFail) {
  Dataset data = streamed(3) | failing_at({1}) | assert_cardinality(3);
  EXPECT_EQ(words(data), (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2"}));
}

TEST(AssertCardinality, ResumesAnywhere) {
  for (std::int64_t expected : {2, 5, 9}) {
    Dataset data = streamed(5) | failing_at({1}) | assert_cardinality(expected);
    expect_resumes(data);
    expect_skips(data);
    expect_resumes(data | shuffle(10));  // there is one more where too many are one Error
  }
}

TEST(AssertCardinality, AllowsForAShare) {
  Dataset data = streamed(5) | assert_cardinality(5);
  EXPECT_EQ(part(data, 2, 0), (Words{"0", "2", "4"}));
  EXPECT_EQ(
      part(streamed(5) | assert_cardinality(2), 2, 0),
      (Words{"0", "2", "error: assert_cardinality: expected 2 elements, got at least 3 elements"}));
}

}  // namespace
}  // namespace belfry::data
