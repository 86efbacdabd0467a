#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

Dataset from(std::int64_t number, std::int64_t count) {
  return range(100 * number + count) | skip(100 * number);
}

Dataset choices(std::vector<std::int32_t> list) {
  auto n = std::ssize(list);
  return from_arrays({{"which", Array::of(std::span<const std::int32_t>(list), Shape{n})}});
}

TEST(ChooseFrom, FollowsTheChoices) {
  EXPECT_EQ(values(choose_from({from(0, 5), from(1, 5), from(2, 5)}, choices({2, 0, 0, 1, 2, 0}))),
            (Values{200, 0, 1, 100, 201, 2}));
  EXPECT_EQ(values(choose_from({from(0, 5), from(1, 5)}, range(2) | repeat())),
            (Values{0, 100, 1, 101, 2, 102, 3, 103, 4, 104}));
  EXPECT_EQ(values(choose_from({from(0, 5)}, choices({}))), Values{});
}

TEST(ChooseFrom, FollowsAFunction) {
  auto two_to_one = [](std::int64_t step) { return step % 3 / 2; };
  EXPECT_EQ(values(choose_from({from(0, 9), from(1, 9)}, two_to_one) | take(7)),
            (Values{0, 1, 100, 2, 3, 101, 4}));
}

TEST(ChooseFrom, EndsWhenAnEndedOneIsChosen) {
  EXPECT_EQ(values(choose_from({from(0, 2), from(1, 5)}, choices({0, 1, 0, 1, 0, 1}))),
            (Values{0, 100, 1, 101}));
}

TEST(ChooseFrom, MayPassOverWhatHasEnded) {
  ChooseOptions go_on{.stop_on_empty = false};
  EXPECT_EQ(named_words(choose_from({from(0, 2), from(1, 5)}, choices({0, 1, 0, 1, 0, 1}), go_on)),
            (Words{"0: 0", "1: 100", "2: 1", "3: 101", "4: 102"}));
  EXPECT_EQ(words(choose_from(
                {from(0, 1), from(1, 5)}, [](std::int64_t) { return 0; }, go_on)),
            (Words{"0",
                   "error: choose_from: the last 1000000 choices were datasets that have "
                   "ended"}));
}

TEST(ChooseFrom, RefusesOtherChoices) {
  const std::string at = " (at element 0, epoch 0)";
  auto first = [](const Dataset& choices) {
    return words(choose_from({range(1), range(1)}, choices)).at(0);
  };
  EXPECT_EQ(first(choices({2})), "error: choose_from: the choice is 2, expected 0 to 1" + at);
  EXPECT_EQ(first(choices({-1})), "error: choose_from: the choice is -1, expected 0 to 1" + at);
  EXPECT_EQ(first(from_arrays({{"x", Array::zeros({1})}})),
            "error: choose_from: a choice is one scalar, i64 or i32; got (x f32[])" + at);
  EXPECT_EQ(first(range(2) | batch(2)),
            "error: choose_from: a choice is one scalar, i64 or i32; got (value i64[2])" + at);
  EXPECT_EQ(error_of([] { choose_from({}, range(1)); }), "choose_from: needs at least one dataset");
  EXPECT_EQ(error_of([] { choose_from({range(1)}, Choose()); }),
            "choose_from: the function is empty");
}

TEST(ChooseFrom, AFailureIsInItsPlace) {
  Dataset data =
      choose_from({from(0, 5) | failing_at({1}), from(1, 5)}, choices({0, 0, 7, 1, 0, 1}));
  EXPECT_EQ(
      named_words(data),
      (Words{"0: 0", "1: error: bad value 1 (at element 1, epoch 0)",
             "2: error: choose_from: the choice is 7, expected 0 to 1 (at element 2, epoch 0)",
             "2: 100", "3: 2", "4: 101"}));
  expect_resumes_everywhere(data);
  expect_skips(data);
}

TEST(ChooseFrom, EveryPipelineFollowsAllChoices) {
  // Were the choices shared too, one pipeline would read one of the datasets only.
  Dataset data = choose_from({from(0, 4), from(1, 4)}, range(2) | repeat());
  EXPECT_EQ(part(data, 2, 0), (Words{"0", "100", "2", "102"}));
  EXPECT_EQ(part(data, 2, 1), (Words{"1", "101", "3", "103"}));
}

TEST(ChooseFrom, ResumesAnywhere) {
  Dataset by_data = choose_from({from(0, 7) | shuffle(7), streamed(9)}, range(2) | repeat());
  expect_resumes_everywhere(by_data | repeat(2));
  Dataset by_function =
      choose_from({from(0, 7), from(1, 3), streamed(9)}, [](std::int64_t i) { return i * i % 3; });
  expect_resumes_everywhere(by_function | repeat(2));
  expect_skips(by_function);
  expect_skips(choose_from({from(0, 3), from(1, 3)}, choices({0, 0, 0, 0, 1, 1, 1, 1, 1}),
                           {.stop_on_empty = false}));
}

}  // namespace
}  // namespace belfry::data
