// Covers Position::list().
#include <gtest/gtest.h>

#include "belfry/data/position.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

TEST(PositionList, IsOneFieldOfManyNumbers) {
  Position inner, at;
  Values none, some{0, -4, 9};
  std::int64_t n = 2;
  inner.list("a.some", some);
  at.list("a.none", none);
  at.append(inner);
  at.field("n", n);
  EXPECT_EQ(at.text(), "a.none=0 a.some=3,0,-4,9 n=2");
}

TEST(PositionList, ReadsBackWhatItSaved) {
  Position at("a.none=0 a.some=3,0,-4,9 n=2");
  Values none{7}, some;
  std::int64_t n = 0;
  at.list("a.none", none);
  at.list("a.some", some, -4, 9);
  at.field("n", n);
  at.finish();
  EXPECT_EQ(none, Values{});
  EXPECT_EQ(some, (Values{0, -4, 9}));
  EXPECT_EQ(n, 2);
}

std::string restoring(const std::string& text) {
  return error_of([&] {
    Position at(text);
    Values values;
    at.list("a", values, 0, 9);
    at.constant("n", 4);
    at.finish();
  });
}

TEST(PositionList, RefusesDamagedText) {
  EXPECT_EQ(restoring("a=1,5 n=4"), "no error");
  EXPECT_EQ(restoring("a=0 n=4"), "no error");
  EXPECT_EQ(restoring("a=2,5 n=4"), "input: the saved position is damaged: a has 1 values of 2");
  EXPECT_EQ(restoring("a=4000000000000000000,5 n=4"),
            "input: the saved position is damaged: a has 1 values of 4000000000000000000");
  EXPECT_THAT(restoring("a=1,5,6 n=4"), ::testing::HasSubstr("has `,6 n` where"));
  EXPECT_THAT(restoring("a=1,x n=4"),
              ::testing::StartsWith("input: the saved position is damaged"));
  EXPECT_THAT(restoring("a=1,"), ::testing::StartsWith("input: the saved position is damaged"));
  EXPECT_THAT(restoring("a=-1"), ::testing::HasSubstr("has a = -1, expected 0 to"));
  EXPECT_THAT(restoring("a=1,10 n=4"), ::testing::HasSubstr("has a = 10, expected 0 to 9"));
}

}  // namespace
}  // namespace belfry::data
