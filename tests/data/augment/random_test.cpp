#include "belfry/data/augment/random.h"

#include <cmath>
#include <map>
#include <numbers>

#include "augment/images.h"

namespace belfry::data {
namespace {

// How many of `trials` draws lie below `bound`.
template <class Draw>
std::int64_t count_below(double bound, int trials, Draw&& draw_one) {
  PhiloxStream random = stream(11);
  std::int64_t out = 0;
  for (int i = 0; i < trials; ++i) out += draw_one(random) < bound;
  return out;
}

TEST(Random, RangesAreUniform) {
  expect_binomial(count_below(-1, 4000, [](auto& r) { return draw(Range{-2, 2}, r); }), 4000, 0.25);
  PhiloxStream random = stream(1);
  EXPECT_EQ(draw(Range{3, 3}, random), 3);
  EXPECT_EQ(draw(WholeRange{-4, -4}, random), -4);
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < 5000; ++i) ++seen[draw(WholeRange{-2, 2}, random)];
  ASSERT_EQ(seen.size(), 5u);
  for (auto [value, count] : seen) expect_binomial(count, 5000, 0.2);
}

TEST(Random, NumbersBelowABoundAreEquallyLikely) {
  PhiloxStream random = stream(6);
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < 3000; ++i) ++seen[draw_below(3, random)];
  ASSERT_EQ(seen.size(), 3u);
  for (std::int64_t value : {0, 1, 2}) expect_binomial(seen[value], 3000, 1.0 / 3);
  EXPECT_EQ(draw_below(1, random), 0);
}

TEST(Random, EventsOfProbabilityZeroAndOneAreCertain) {
  PhiloxStream random = stream(1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(draw_event(1, random));
    EXPECT_FALSE(draw_event(0, random));
  }
}

TEST(Random, PermutationsAreEquallyLikely) {
  PhiloxStream random = stream(2);
  std::map<std::vector<std::int64_t>, int> seen;
  for (int i = 0; i < 12'000; ++i) ++seen[draw_permutation(4, random)];
  ASSERT_EQ(seen.size(), 24u);
  for (const auto& [order, count] : seen) expect_binomial(count, 12'000, 1.0 / 24);
  EXPECT_EQ(draw_permutation(1, random), Values{0});
  EXPECT_EQ(draw_permutation(0, random), Values{});
}

TEST(Random, GammaHasItsDistribution) {
  // Shape 1 is exponential; 2: 1 - (1 + x) e^-x; 1/2: erf(sqrt x).
  for (double x : {0.1, 0.7, 1.5, 3.0}) {
    auto below = [&](double shape) {
      return count_below(std::log(x), 5000, [=](auto& r) { return draw_log_gamma(shape, r); });
    };
    expect_binomial(below(1), 5000, 1 - std::exp(-x));
    expect_binomial(below(2), 5000, 1 - (1 + x) * std::exp(-x));
    expect_binomial(below(0.5), 5000, std::erf(std::sqrt(x)));
  }
}

TEST(Random, BetaHasItsDistribution) {
  for (double x : {0.05, 0.3, 0.5, 0.9}) {
    auto below = [&](double a, double b) {
      return count_below(x, 5000, [=](auto& r) { return draw_beta(a, b, r); });
    };
    expect_binomial(below(1, 1), 5000, x);
    expect_binomial(below(2, 2), 5000, x * x * (3 - 2 * x));
    expect_binomial(below(0.5, 0.5), 5000, 2 / std::numbers::pi * std::asin(std::sqrt(x)));
    expect_binomial(below(3, 1), 5000, x * x * x);
  }
}

TEST(Random, BetaOfTinyParametersIsZeroOrOne) {
  PhiloxStream random = stream(3);
  int ones = 0;
  for (int i = 0; i < 2000; ++i) {
    double x = draw_beta(1e-3, 1e-3, random);
    ASSERT_TRUE(x >= 0 && x <= 1);
    ones += x > 0.5;
  }
  expect_binomial(ones, 2000, 0.5);
}

TEST(Random, FillsWithNormalNumbers) {
  Floats values(20'001, -100);  // odd: the last one has no partner
  PhiloxStream random = stream(4);
  fill_normal(values, random);
  for (double x : {-1.0, 0.0, 0.5, 2.0}) {
    std::int64_t below = std::count_if(values.begin(), values.end(),
                                       [=](float v) { return static_cast<double>(v) < x; });
    expect_binomial(below, 20'001, std::erfc(-x / std::numbers::sqrt2) / 2);
  }
  // Neither the two of a pair nor their neighbours go together.
  for (std::size_t lag : {1u, 2u}) {
    std::int64_t alike = 0;
    for (std::size_t i = 0; i + lag < 20'000; i += 4)
      alike += (values[i] > 0) == (values[i + lag] > 0);
    expect_binomial(alike, 5000, 0.5);
  }
}

TEST(Random, FillsUniformly) {
  Floats values(10'000);
  PhiloxStream random = stream(5);
  fill_uniform(values, -1, 1, random);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
  expect_binomial(std::count_if(values.begin(), values.end(), [](float v) { return v < -0.5f; }),
                  10'000, 0.25);
}

}  // namespace
}  // namespace belfry::data
