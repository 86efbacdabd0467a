#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

std::int64_t value_of(const Features& f) { return f.at("value").span<std::int64_t>()[0]; }

std::int64_t parity(const Features& f) {
  require(value_of(f) != 13, "unlucky");
  return value_of(f) % 2;
}

TEST(GroupByWindow, BatchesWhatHasTheSameKey) {
  EXPECT_EQ(words(range(7) | group_by_window(parity, 2)), (Words{"0,2", "1,3", "4,6", "5"}));
  EXPECT_EQ(words(range(7) | group_by_window(parity, 2, {.drop_remainder = true})),
            (Words{"0,2", "1,3", "4,6"}));
  EXPECT_EQ(words(range(0) | group_by_window(parity, 2)), Words{});
  EXPECT_EQ(words(range(4) | group_by_window([](const Features&) { return 7; }, 9)),
            Words{"0,1,2,3"});
  // At the end lowest keys come first.
  auto opposite = [](const Features& f) { return -value_of(f); };
  EXPECT_EQ(words(range(4) | group_by_window(opposite, 2)), (Words{"3", "2", "1", "0"}));
}

// tf.data's test with window_size_func: even numbers in fives, odd ones in tens.
TEST(GroupByWindow, SizesMayDependOnTheKey) {
  auto size = [](std::int64_t key) { return 2 + 2 * key; };
  EXPECT_EQ(words(range(10) | group_by_window(parity, size)),
            (Words{"0,2", "4,6", "1,3,5,7", "8", "9"}));
  auto none = [](std::int64_t key) { return key; };
  EXPECT_EQ(words(range(3) | group_by_window(parity, none)),
            (Words{"error: group_by_window: size must be at least 1, got 0 for the key 0 (at "
                   "element 0, epoch 0)",
                   "1",
                   "error: group_by_window: size must be at least 1, got 0 for the key 0 (at "
                   "element 2, epoch 0)"}));
}

TEST(GroupByWindow, PadsWhatDiffers) {
  Dataset ragged = indexed(4, [](std::int64_t i, Features& out) {
    prepare(out, {{"value", {Shape{i + 1}, DType::i64}}});
    for (std::int64_t& x : out.at("value").span<std::int64_t>()) x = i;
  });
  EXPECT_EQ(words(ragged | group_by_window(parity, 2, {.default_padding = 9})),
            (Words{"0,9,9,2,2,2", "1,1,9,9,3,3,3,3"}));
}

// More keys than buckets that are kept for their memory.
TEST(GroupByWindow, KeysMayBeMany) {
  auto half = [](const Features& f) { return value_of(f) % 1000; };
  Dataset data = range(2000) | group_by_window(half, 2);
  Words all = words(data);
  ASSERT_EQ(all.size(), 1000u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], concat(i, ",", i + 1000));
  EXPECT_EQ(words(data | repeat(2), 3000).size(), 2000u);
}

TEST(GroupByWindow, AFailureIsDeliveredAtOnceAndCostsNothingElse) {
  Dataset data = range(16) | failing_at({4}) | skip(3) | group_by_window(parity, 3);
  EXPECT_EQ(words(data), (Words{"error: bad value 4 (at element 4, epoch 0)", "3,5,7", "6,8,10",
                                "error: unlucky (at element 13, epoch 0)", "9,11,15", "12,14"}));
  expect_resumes_everywhere(data);
  expect_skips(data);
}

TEST(GroupByWindow, ResumesAnywhere) {
  auto by_five = [](const Features& f) { return value_of(f) % 5; };
  for (const Dataset& source : {range(40), streamed(40), range(40) | shuffle(40)}) {
    expect_resumes_everywhere(source | group_by_window(by_five, 3) | repeat(2));
    expect_skips(source | group_by_window(by_five, 3));
  }
  expect_resumes_everywhere(range(30) | repeat() | group_by_window(by_five, 4));
}

TEST(GroupByWindow, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { group_by_window(parity, 0); }),
            "group_by_window: size must be at least 1, got 0");
  EXPECT_EQ(error_of([] { group_by_window(nullptr, 1); }),
            "group_by_window: the function is empty");
  EXPECT_EQ(error_of([] {
              group_by_window(parity, 1, {.multiple_of = {{"x", 0}}});
            }),
            "group_by_window: multiple_of must be at least 1, got 0 for `x`");
  EXPECT_EQ((range(3) | repeat() | group_by_window(parity, 1)).cardinality(), infinite);
}

}  // namespace
}  // namespace belfry::data
