// Covers sample_from.cpp and mixture.cpp.
#include <cmath>

#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

// 1000 * number, 1000 * number + 1, ...
Dataset from(std::int64_t number, std::int64_t count) {
  return range(1000 * number + count) | skip(1000 * number);
}

Dataset endless(std::int64_t number) { return from(number, 1) | repeat(); }

// How many of `most` elements come from each of three endless datasets.
Values counts(SampleOptions options, std::int64_t most) {
  Values out(3);
  for (std::int64_t v : values(sample_from({endless(0), endless(1), endless(2)}, options), most))
    ++out[static_cast<std::size_t>(v / 1000)];
  return out;
}

// Bound at five standard deviations of the binomial distribution.
void expect_counts(const Values& counts, const std::vector<double>& probabilities) {
  auto n = static_cast<double>(counts[0] + counts[1] + counts[2]);
  for (std::size_t i = 0; i < 3; ++i) {
    double p = probabilities[i];
    EXPECT_NEAR(static_cast<double>(counts[i]), n * p, 5 * std::sqrt(n * p * (1 - p)) + 1e-9) << i;
  }
}

TEST(SampleFrom, DrawsByWeight) {
  expect_counts(counts({}, 6000), {1 / 3.0, 1 / 3.0, 1 / 3.0});
  expect_counts(counts({.weights = {0.5, 0.25, 0.25}}, 6000), {0.5, 0.25, 0.25});
  expect_counts(counts({.weights = {60, 0, 20}, .seed = 8}, 6000), {0.75, 0, 0.25});
  expect_counts(counts({.weights = {1e308, 1e308, 1e308}}, 3000), {1 / 3.0, 1 / 3.0, 1 / 3.0});
}

TEST(SampleFrom, KeepsTheOrderOfEach) {
  Values first, second;
  Values v = values(sample_from({streamed(30), from(1, 20)}));
  for (std::int64_t x : v) (x < 1000 ? first : second).push_back(x);
  EXPECT_EQ(first, counting(0, 30));
  EXPECT_EQ(second, counting(1000, 1020));
}

TEST(SampleFrom, DependsOnSeedPlaceAndEpochAlone) {
  auto draws = [](SampleOptions options) {
    return values(sample_from({endless(0), endless(1)}, options), 64);
  };
  EXPECT_EQ(draws({}), draws({}));
  EXPECT_NE(draws({}), draws({.seed = 1}));
  Dataset twice = sample_from({from(0, 32), from(1, 32)}) | repeat(2);
  Values v = values(twice);
  ASSERT_EQ(v.size(), 128u);
  EXPECT_NE(Values(v.begin(), v.begin() + 64), Values(v.begin() + 64, v.end()));
  Dataset nested = sample_from({sample_from({endless(0), endless(1)}), endless(2)});
  EXPECT_EQ(sorted(values(nested, 300)).back(), 2000);
}

TEST(SampleFrom, GoesOnWithTheOthersWhenOneEnds) {
  Values v = values(sample_from({from(0, 3), from(1, 400)}));
  EXPECT_EQ(v.size(), 403u);
  Values w = values(sample_from({from(0, 3), from(1, 9), from(2, 9)}, {.weights = {1, 0, 1}}));
  EXPECT_EQ(sorted(w), (Values{0, 1, 2, 2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008}));
  EXPECT_EQ(values(sample_from({range(0), streamed(0)})), Values{});
}

TEST(SampleFrom, MayStopAtTheFirstThatEnds) {
  Values v = values(sample_from({from(0, 3), endless(1)}, {.stop_on_empty = true}));
  EXPECT_EQ(std::count_if(v.begin(), v.end(), [](std::int64_t x) { return x < 1000; }), 3);
  EXPECT_LT(v.size(),
            100u);  // by then the fourth draw of the first has come: probability 1 - 1e-25
}

TEST(SampleFrom, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { sample_from({}); }), "sample_from: needs at least one dataset");
  EXPECT_EQ(error_of([] {
              sample_from({range(1)}, {.weights = {1, 2}});
            }),
            "sample_from: 1 datasets, but 2 weights");
  EXPECT_EQ(error_of([] { sample_from({range(1)}, {.weights = {-0.5}}); }),
            "sample_from: weights must be finite and at least 0, got -0.5");
  EXPECT_EQ(error_of([] { sample_from({range(1)}, {.weights = {std::nan("")}}); }),
            "sample_from: weights must be finite and at least 0, got nan");
  EXPECT_EQ(error_of([] { sample_from({range(1)}, {.weights = {0}}); }),
            "sample_from: at least one weight must be above 0");
}

TEST(SampleFrom, KnowsHowManyThereAre) {
  EXPECT_EQ(sample_from({range(3), range(4)}).cardinality(), 7);
  EXPECT_EQ(sample_from({range(3), range(4)}, {.weights = {1, 0}}).cardinality(), 3);
  EXPECT_EQ(sample_from({range(3), range(4)}, {.stop_on_empty = true}).cardinality(), unknown);
  EXPECT_EQ(sample_from({range(3), streamed(4)}).cardinality(), unknown);
  EXPECT_EQ(sample_from({streamed(3), endless(1)}).cardinality(), infinite);
}

TEST(SampleFrom, NumbersItsElements) {
  Words named = named_words(sample_from({from(0, 4), from(1, 4) | failing_at({1001})}));
  ASSERT_EQ(named.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_TRUE(named[i].starts_with(concat(i, ": "))) << named[i];
}

TEST(SampleFrom, ResumesAnywhere) {
  Dataset data = sample_from({from(0, 12), streamed(15) | failing_at({2, 3}), from(2, 0)},
                             {.weights = {2, 1, 1}});
  expect_resumes_everywhere(data);
  expect_resumes_everywhere(data | repeat(2));
  expect_skips(data);
  expect_resumes_everywhere(sample_from({from(0, 5), from(1, 50)}, {.stop_on_empty = true}));
  expect_resumes_everywhere(sample_from({endless(0), from(1, 9) | shuffle(9) | repeat()}));
  expect_skips(sample_from({from(0, 5), from(1, 50)}, {.stop_on_empty = true}));
}

TEST(SampleFrom, APositionBelongsToItsDatasets) {
  std::string two = open(sample_from({range(3), range(4)}))->save();
  EXPECT_EQ(error_of([&] {
              open(sample_from({range(3), range(4), range(5)}))->restore(two);
            }),
            "input: the saved position is that of 2 mixed datasets, this pipeline has 3");
  EXPECT_THAT(error_of([&] {
                open(sample_from({range(3), range(4)}, {.seed = 1}))->restore(two);
              }),
              ::testing::StartsWith("input: the saved position has sample_from.seed = 0, this "
                                    "pipeline has 1"));
}

}  // namespace
}  // namespace belfry::data
