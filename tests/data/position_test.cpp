#include "belfry/data/position.h"

#include <gtest/gtest.h>

#include "pipeline.h"

namespace belfry::data {
namespace {

std::string saved(std::int64_t a, bool b) {
  Position at;
  at.field("take.left", a);
  at.field("repeat.seen", b);
  return at.text();
}

TEST(Position, IsOneLineOfNamedNumbers) { EXPECT_EQ(saved(7, true), "take.left=7 repeat.seen=1"); }

TEST(Position, ReadsBackWhatItSaved) {
  Position at(saved(-5, true));
  std::int64_t a = 0;
  bool b = false;
  at.field("take.left", a, -10);
  at.field("repeat.seen", b);
  at.finish();
  EXPECT_EQ(a, -5);
  EXPECT_TRUE(b);
}

TEST(Position, AppendsAndClears) {
  Position inner, outer;
  std::int64_t n = 3;
  inner.field("x", n);
  outer.field("y", n);
  outer.append(inner);
  EXPECT_EQ(outer.text(), "y=3 x=3");
  outer.clear();
  EXPECT_EQ(outer.text(), "");
}

std::string restoring(const std::string& text) {
  return error_of([&] {
    Position at(text);
    std::int64_t a = 0;
    at.field("a", a, 0, 9);
    at.constant("n", 4);
    at.finish();
  });
}

TEST(Position, RefusesWhatAnotherPipelineSaved) {
  const std::string changed = "; was the input pipeline or its data changed since it was saved?";
  EXPECT_EQ(restoring("a=1 n=4"), "no error");
  EXPECT_EQ(restoring("b=1 n=4"),
            "input: the saved position has `b` where this pipeline has `a`" + changed);
  EXPECT_EQ(restoring("a=1"),
            "input: the saved position has `` where this pipeline has `n`" + changed);
  EXPECT_EQ(restoring("a=10 n=4"),
            "input: the saved position has a = 10, expected 0 to 9" + changed);
  EXPECT_EQ(restoring("a=1 n=5"),
            "input: the saved position has n = 5, this pipeline has 4" + changed);
  EXPECT_EQ(restoring("a=1 n=4 x=1"),
            "input: the saved position goes on with `x=1` where this pipeline ends" + changed);
}

TEST(Position, RefusesDamagedText) {
  for (const char* text : {"a=", "a", "a=x", "a=1;n=4", "a=99999999999999999999 n=4", "a=1.5 n=4"})
    EXPECT_THAT(restoring(text),
                ::testing::StartsWith("input: the saved position is damaged at `a"))
        << text;
}

}  // namespace
}  // namespace belfry::data
