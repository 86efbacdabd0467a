#include "belfry/data/transforms/errors.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

TEST(Select, ReadsOnlyTheseInTheirOrder) {
  Dataset data = range(10) | select({5, 0, 5, 9});
  EXPECT_EQ(values(data), (Values{5, 0, 5, 9}));
  EXPECT_EQ(sorted(values(data | shuffle(4))), (Values{0, 5, 5, 9}));
  EXPECT_EQ(values(range(3) | select({})), Values{});
  expect_resumes(data);
  EXPECT_EQ(error_of([] { range(3) | select({3}); }), "select: there is no element 3 of 3");
  EXPECT_EQ(error_of([] { range(3) | select({-1}); }),
            "select: an index must be at least 0, got -1");
}

TEST(Select, PassesOverWhatLiesBetween) {
  Dataset data = streamed(10) | select({0, 3, 4, 9});
  EXPECT_EQ(data.cardinality(), 4);
  EXPECT_EQ(values(data), (Values{0, 3, 4, 9}));
  EXPECT_EQ(values(streamed(3) | select({})), Values{});
  expect_resumes(data);
  // Places in the whole, which several pipelines share.
  EXPECT_EQ(values(*data.open({.pipelines = 2, .pipeline = 0})), (Values{0, 4}));
  EXPECT_EQ(values(*data.open({.pipelines = 2, .pipeline = 1})), (Values{3, 9}));
  EXPECT_EQ(error_of([] {
              streamed(3) | select({1, 1});
            }),
            "select: generator has no random access, so indices must ascend, but 1 follows 1");
  InputStreamPtr stream = open(streamed(3) | select({2, 3, 7}));
  Features element;
  EXPECT_TRUE(stream->next(element));
  EXPECT_EQ(error_of([&] { stream->next(element); }), "select: there is no element 3");
  EXPECT_EQ(error_of([&] { stream->next(element); }), "select: there is no element 7");
  EXPECT_FALSE(stream->next(element));
}

TEST(Select, SkippingComputesNothing) {
  int computed = 0;
  auto count = [&](Features in) {
    ++computed;
    return in;
  };
  Dataset data = streamed(100) | map(count) | select({1, 5, 50, 80, 99});
  EXPECT_EQ(values(data | skip(3)), (Values{80, 99}));
  EXPECT_EQ(computed, 2);
}

}  // namespace
}  // namespace belfry::data
