#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

Transform while_not(std::int64_t stop) {
  return take_while([=](const Features& f) { return f.at("value").at(0) != stop; });
}

TEST(TakeWhile, EndsAtTheFirstThatFailsTheTest) {
  EXPECT_EQ(values(range(9) | while_not(3)), (Values{0, 1, 2}));
  EXPECT_EQ(values(range(5) | repeat() | while_not(4)), (Values{0, 1, 2, 3}));
  EXPECT_EQ(values(range(4) | while_not(9)), counting(0, 4));
  EXPECT_EQ(values(range(4) | while_not(0)), Values{});
  EXPECT_EQ(values(range(0) | while_not(0)), Values{});
  EXPECT_EQ(error_of([] { take_while(nullptr); }), "take_while: the function is empty");
}

TEST(TakeWhile, EndsForGood) {
  InputStreamPtr stream = open(range(4) | while_not(1));
  Features f;
  EXPECT_TRUE(stream->next(f));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream->next(f));
  std::string state = stream->save();
  stream->restore(state);
  EXPECT_FALSE(stream->next(f));
}

TEST(TakeWhile, GoesOnAfterAnError) {
  Dataset data = range(6) | failing_at({1}) | take_while([](const Features& f) {
                   require(f.at("value").at(0) != 3, "no idea");
                   return f.at("value").at(0) != 5;
                 });
  EXPECT_EQ(words(data), (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2",
                                "error: no idea (at element 3, epoch 0)", "4"}));
  expect_resumes(data);
  expect_skips(data);
}

TEST(TakeWhile, HasAnUnknownEnd) {
  EXPECT_EQ((range(5) | while_not(2)).cardinality(), unknown);
  EXPECT_EQ((range(5) | repeat() | while_not(2)).cardinality(), unknown);
  EXPECT_EQ((range(0) | while_not(2)).cardinality(), 0);
}

TEST(TakeWhile, ResumesAnywhere) {
  expect_resumes(range(9) | shuffle(9) | while_not(3) | repeat(3));
  expect_resumes(streamed(9) | while_not(7));
}

}  // namespace
}  // namespace belfry::data
