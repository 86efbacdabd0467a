#include <map>
#include <set>

#include "belfry/data/selection/selection.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

TEST(Shuffle, OfRandomAccessIsAPermutation) {
  Dataset data = range(1000) | shuffle(1000);
  Values once = values(data);
  EXPECT_NE(once, counting(0, 1000));
  EXPECT_EQ(sorted(once), counting(0, 1000));
  EXPECT_EQ(values(data), once);
  EXPECT_NE(values(range(1000) | shuffle(1000, {.seed = 1})), once);
  EXPECT_EQ(open(data)->save(), "indexed.size=1000 shuffle.seed=0 indexed.next=0");
}

TEST(Shuffle, OfAStreamYieldsEachElementOnce) {
  for (std::int64_t buffer : {1, 2, 7, 100, 1000}) {
    Dataset data = streamed(100) | shuffle(buffer);
    Values once = values(data);
    EXPECT_EQ(sorted(once), counting(0, 100));
    EXPECT_EQ(once == counting(0, 100), buffer == 1);
    EXPECT_EQ(values(data), once);
    // No element can come before the buffer has reached it.
    for (std::int64_t i = 0; i < 100; ++i) EXPECT_LT(once[static_cast<std::size_t>(i)], i + buffer);
  }
}

TEST(Shuffle, WithASmallBufferReadsRandomAccessAsAStream) {
  EXPECT_FALSE((range(100) | shuffle(99)).info().random_access);
  EXPECT_EQ(sorted(values(range(100) | shuffle(99))), counting(0, 100));
}

// Each of the orders of three elements comes up equally often: chi-squared with 5 degrees of
// freedom, bound at mean + 5 standard deviations.
TEST(Shuffle, OrdersAreEquallyLikely) {
  for (const Dataset& source : {range(3), streamed(3)}) {
    std::map<Values, int> counts;
    constexpr int draws = 6000;
    for (int seed = 0; seed < draws; ++seed)
      ++counts[values(source | shuffle(3, {.seed = static_cast<std::uint64_t>(seed)}))];
    ASSERT_EQ(counts.size(), 6u);
    double sum = 0;
    for (const auto& [order, n] : counts) sum += (n - 1000.0) * (n - 1000.0) / 1000.0;
    EXPECT_LT(sum, 5 + 5 * std::sqrt(10.0));
  }
}

TEST(Shuffle, BeforeRepeatKeepsEpochsApart) {
  for (const Dataset& source : {range(50), streamed(50)}) {
    for (bool again : {true, false}) {
      Values v = values(source | shuffle(50, {.reshuffle_each_iteration = again}) | repeat(2));
      Values first(v.begin(), v.begin() + 50), second(v.begin() + 50, v.end());
      EXPECT_EQ(sorted(first), counting(0, 50));
      EXPECT_EQ(sorted(second), counting(0, 50));
      EXPECT_EQ(first == second, !again);
    }
  }
}

TEST(Shuffle, AfterRepeatBlendsThem) {
  Values v = values(range(10) | repeat(5) | shuffle(50));
  EXPECT_NE(sorted(Values(v.begin(), v.begin() + 10)), counting(0, 10));
  std::map<std::int64_t, int> counts;
  for (std::int64_t x : v) ++counts[x];
  for (const auto& [x, n] : counts) EXPECT_EQ(n, 5) << x;
}

TEST(Shuffle, TwoInARowDiffer) {
  Values v = values(range(100) | shuffle(100));
  EXPECT_NE(values(range(100) | shuffle(100) | shuffle(100)), v);
  EXPECT_EQ(sorted(values(range(100) | shuffle(100) | shuffle(100))), counting(0, 100));
}

TEST(Shuffle, ResumesAnywhere) {
  expect_resumes(range(20) | shuffle(20) | repeat(3));
  expect_resumes(range(20) | shuffle(7) | repeat(3));
  expect_resumes(streamed(20) | shuffle(30) | repeat());
  expect_resumes(streamed(20) | repeat() | shuffle(15));
}

TEST(Shuffle, DeliversErrorsAndLosesNothingElse) {
  Dataset data = streamed(20) | failing_at({4, 5, 12}) | shuffle(6);
  std::vector<std::string> all = words(data);
  EXPECT_EQ(all.size(), 20u);
  std::multiset<std::string> seen(all.begin(), all.end());
  std::multiset<std::string> expected;
  for (std::int64_t i = 0; i < 20; ++i)
    expected.insert(i == 4 || i == 5 || i == 12
                        ? concat("error: bad value ", i, " (at element ", i, ", epoch 0)")
                        : text(i));
  EXPECT_EQ(seen, expected);
  expect_resumes(data);
}

TEST(Shuffle, RefusesABufferThatNobodyCanFill) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error_of([] { range(3) | repeat() | shuffle(most); }),
            "shuffle: a buffer of 9223372036854775807 elements is too large: repeat has no random "
            "access, so that they would be held in memory; take at most 1099511627776");
  EXPECT_EQ(sorted(values(range(9) | shuffle(most))), counting(0, 9));
}

TEST(Shuffle, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { shuffle(0); }),
            "shuffle: the buffer must hold at least 1 element, got 0");
  // At once, also where it would be long to draw so many.
  for (const Dataset& three : {streamed(3), streamed(3) | assert_cardinality(3)})
    for (const char* taken : {"4", "5", "444000936334"}) {
      InputStreamPtr stream = open(three | shuffle(2));
      const std::string position =
          concat("shuffle.taken=", taken, " shuffle.seed=0 shuffle.buffer=2");
      EXPECT_EQ(error_of([&] { stream->restore(position); }),
                concat("input: the saved position is element ", taken,
                       " of shuffled data that now end after 3"));
    }
}

TEST(Shuffle, APositionBelongsToOneSeed) {
  for (const Dataset& source : {range(20), streamed(20), range(30) | skip(10)}) {
    InputStreamPtr stream = open(source | shuffle(20, {.seed = 1}));
    std::string position = stream->save();
    EXPECT_EQ(error_of([&] { open(source | shuffle(20, {.seed = 2}))->restore(position); }),
              "input: the saved position has shuffle.seed = 1, this pipeline has 2; was the input "
              "pipeline or its data changed since it was saved?");
  }
}

TEST(Shuffle, APositionBelongsToBothSeedsOfTwoShuffles) {
  auto twice = [](std::uint64_t a, std::uint64_t b) {
    return open(range(9) | shuffle(9, {.seed = a}) | shuffle(9, {.seed = b}));
  };
  std::string position = twice(1, 2)->save();
  EXPECT_EQ(error_of([&] { twice(1, 2)->restore(position); }), "no error");
  for (auto [a, b] : {std::pair{3, 2}, {1, 3}, {2, 1}})
    EXPECT_NE(error_of([&, a = a, b = b] { twice(a, b)->restore(position); }), "no error")
        << a << b;
}

TEST(Shuffle, RestoringComputesOnlyWhatIsInTheBuffer) {
  int computed = 0;
  auto count = [&](Features in) {
    ++computed;
    return in;
  };
  for (std::int64_t taken : {500, 960, 999, 1000}) {
    for (bool known : {true, false}) {
      Dataset source =
          known ? range(1000) | map(count) : Dataset("unknown", {}, [&](const Pass& pass) {
            return (range(1000) | map(count)).iterate(pass);
          });
      InputStreamPtr stream = open(source | shuffle(50));
      Values tail = values(*stream);
      tail.erase(tail.begin(), tail.begin() + taken);
      InputStreamPtr restored = open(source | shuffle(50));
      computed = 0;
      restored->restore(concat("shuffle.taken=", taken, " shuffle.seed=0 shuffle.buffer=50"));
      EXPECT_LE(computed, 2 * 50) << "after " << taken;
      EXPECT_EQ(values(*restored), tail);
    }
  }
}

TEST(Shuffle, RestoresIntoABufferThatNoMemoryHolds) {
  Dataset data = streamed(10) | shuffle(std::int64_t{1} << 40);
  EXPECT_EQ(sorted(values(data)), counting(0, 10));
  expect_resumes(data);
}

}  // namespace
}  // namespace belfry::data
