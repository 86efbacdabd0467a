#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

Dataset from(std::int64_t begin, std::int64_t end) { return range(end) | skip(begin); }

TEST(Concatenate, YieldsOneAfterTheOther) {
  EXPECT_EQ(values(concatenate(range(3), from(7, 9))), (Values{0, 1, 2, 7, 8}));
  EXPECT_EQ(values(range(2) | concatenate(range(2)) | concatenate(range(1))),
            (Values{0, 1, 0, 1, 0}));
  EXPECT_EQ(values(range(0) | concatenate(streamed(2))), (Values{0, 1}));
  EXPECT_EQ(values(streamed(2) | concatenate(range(0))), (Values{0, 1}));
  EXPECT_EQ(values(range(0) | concatenate(streamed(0))), Values{});
  EXPECT_EQ(values(range(2) | concatenate(range(3) | repeat()), 7), (Values{0, 1, 0, 1, 2, 0, 1}));
}

TEST(Concatenate, KnowsWhatItsInputsKnow) {
  EXPECT_EQ(concatenate(range(3), range(4)).cardinality(), 7);
  EXPECT_TRUE(concatenate(range(3), range(4)).info().random_access);
  EXPECT_EQ(concatenate(range(3), streamed(4)).cardinality(), unknown);
  EXPECT_FALSE(concatenate(range(3), range(4) | repeat(1)).info().random_access);
  EXPECT_EQ(concatenate(range(3) | repeat(), streamed(4)).cardinality(), infinite);
  EXPECT_EQ(concatenate(streamed(4), range(3) | repeat()).cardinality(), infinite);
}

TEST(Concatenate, NumbersElementsThrough) {
  // The indices of the parts, 5, 6 and 0, 1, 2, would not be told apart from others.
  for (const Dataset& second : {range(3), streamed(3)})
    EXPECT_EQ(named_words(from(5, 7) | concatenate(second)),
              (Words{"0: 5", "1: 6", "2: 0", "3: 1", "4: 2"}));
  EXPECT_EQ(named_words(streamed(3) | failing_at({1}) | concatenate(range(1))),
            (Words{"0: 0", "1: error: bad value 1 (at element 1, epoch 0)", "2: 2", "3: 0"}));
}

TEST(Concatenate, CanBeReadInAnyOrder) {
  Dataset data = from(0, 10) | concatenate(from(10, 17));
  Values shuffled = values(data | shuffle(17));
  EXPECT_NE(shuffled, counting(0, 17));
  EXPECT_EQ(sorted(shuffled), counting(0, 17));
  EXPECT_EQ(values(data | skip(8) | take(5)), (Values{8, 9, 10, 11, 12}));
  for (const std::string& word : named_words(data | shuffle(17))) {
    auto colon = word.find(": ");  // an element keeps its number in any order
    EXPECT_EQ(word.substr(0, colon), word.substr(colon + 2));
  }
  Values deep = values(data | concatenate(from(17, 20)) | shuffle(20));
  EXPECT_EQ(sorted(deep), counting(0, 20));
}

TEST(Concatenate, DeliversErrorsInTheirPlace) {
  Dataset data = range(3) | failing_at({2}) | concatenate(streamed(3) | failing_at({0}));
  EXPECT_EQ(words(data), (Words{"0", "1", "error: bad value 2 (at element 2, epoch 0, in map 1)",
                                "error: bad value 0 (at element 0, epoch 0, in map 2)", "1", "2"}));
  expect_resumes(data);
  expect_skips(data);
  expect_resumes(range(6) | failing_at({2}) | concatenate(range(6) | failing_at({1}))
                 | shuffle(12));
}

TEST(Concatenate, OpensTheSecondWhenTheFirstHasEnded) {
  auto opened = std::make_shared<int>(0);
  Dataset second("counted", [=](const Pass& pass) {
    ++*opened;
    return range(1).iterate(pass.inner(0));
  });
  InputStreamPtr stream = open(range(2) | concatenate(second));
  Features f;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(stream->next(f));
  EXPECT_EQ(*opened, 0);
  EXPECT_TRUE(stream->next(f));
  EXPECT_EQ(*opened, 1);
}

TEST(Concatenate, AnElementDrawsDifferentRandomNumbersInEachPart) {
  auto draw = map([](Features, PhiloxStream& random) {
    return Features{{"value", Array::scalar(static_cast<std::int64_t>(random.below(1'000'000)))}};
  });
  Values both = values(range(1) | draw | concatenate(range(1) | draw));
  EXPECT_NE(both[0], both[1]);
}

TEST(Concatenate, ResumesAnywhere) {
  expect_resumes(range(5) | concatenate(streamed(6)) | repeat(2));
  expect_resumes(range(5) | concatenate(range(6)));
  expect_resumes(range(5) | shuffle(5) | concatenate(range(6) | shuffle(6)) | shuffle(11)
                 | repeat(2));
  expect_resumes(range(0) | concatenate(range(0)));
  expect_skips(range(5) | concatenate(range(6)));
  expect_skips(streamed(4) | concatenate(range(3)));
  expect_skips(range(5) | concatenate(range(6)) | shuffle(11));
}

TEST(Concatenate, IsSharedByPlaceOrByPart) {
  EXPECT_EQ(part(from(0, 3) | concatenate(from(3, 8)), 2, 1), (Words{"1", "3", "5", "7"}));
  EXPECT_EQ(sorted(values(*(from(0, 3) | concatenate(from(3, 8)) | shuffle(8))
                               .open({.pipelines = 2, .pipeline = 0})))
                .size(),
            4u);
  // Without random access each part is shared by itself.
  EXPECT_EQ(part(streamed(3) | concatenate(streamed(4)), 2, 1), (Words{"1", "1", "3"}));
}

}  // namespace
}  // namespace belfry::data
