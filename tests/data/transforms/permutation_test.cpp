#include "belfry/data/transforms/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "pipeline.h"

namespace belfry::data {
namespace {

Values image(std::int64_t size, std::uint64_t seed) {
  Permutation permutation(size, philox_key(seed, "test"));
  Values out;
  for (std::int64_t i = 0; i < size; ++i) out.push_back(permutation(i));
  return out;
}

TEST(Permutation, HitsEveryNumberOnce) {
  for (std::int64_t size = 0; size <= 300; ++size)
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      ASSERT_EQ(sorted(image(size, seed)), counting(0, size)) << size << " " << seed;
  for (std::int64_t size : {60'000, 65'536, 65'537, 66'049, 99'991, 1'000'000})
    ASSERT_EQ(sorted(image(size, 1)), counting(0, size)) << size;
}

TEST(Permutation, StaysInsideSizesThatNoMemoryHolds) {
  for (std::int64_t size : {std::int64_t{1} << 32, (std::int64_t{1} << 61) + 12345}) {
    Permutation permutation(size, philox_key(1, "large"));
    for (std::int64_t i = 0; i < 1000; ++i) {
      std::int64_t to = permutation(size - 1 - i);
      ASSERT_TRUE(to >= 0 && to < size);
    }
  }
}

TEST(Permutation, DependsOnItsKeyAlone) {
  EXPECT_EQ(image(1000, 3), image(1000, 3));
  EXPECT_NE(image(1000, 3), image(1000, 4));
}

// Chi-squared over `cells` equally likely outcomes; the bound is mean + 5 standard deviations of
// the distribution with cells - 1 degrees of freedom.
void expect_uniform(const std::map<Values, int>& counts, int cells, int draws) {
  double expected = static_cast<double>(draws) / cells, sum = 0;
  for (const auto& [outcome, n] : counts) sum += (n - expected) * (n - expected) / expected;
  sum += (cells - static_cast<double>(counts.size())) * expected;
  EXPECT_LT(sum, cells - 1 + 5 * std::sqrt(2.0 * (cells - 1)));
}

TEST(Permutation, AllPermutationsOfFewAreEquallyLikely) {
  constexpr int factorial[]{1, 1, 2, 6, 24, 120};
  for (std::int64_t size = 2; size <= 5; ++size) {
    std::map<Values, int> counts;
    constexpr int draws = 24'000;
    for (int seed = 0; seed < draws; ++seed)
      ++counts[image(size, static_cast<std::uint64_t>(seed))];
    SCOPED_TRACE(size);
    expect_uniform(counts, factorial[size], draws);
  }
}

// Where the first number goes, in 40 equal parts of the range, and the same for the difference of
// two neighbours.
TEST(Permutation, SpreadsEvenly) {
  for (std::int64_t size : {65'537, 1'000'000, 1 << 30}) {
    std::map<Values, int> places, differences;
    constexpr int draws = 4000, parts = 40;
    for (int seed = 0; seed < draws; ++seed) {
      Permutation permutation(size, philox_key(static_cast<std::uint64_t>(seed), "pairs"));
      std::int64_t a = permutation(41), b = permutation(42);
      ++places[{a * parts / size}];
      ++differences[{(a - b + size) % size * parts / size}];
    }
    SCOPED_TRACE(size);
    expect_uniform(places, parts, draws);
    expect_uniform(differences, parts, draws);
  }
}

TEST(Permutation, OfManyHasNoVisibleOrder) {
  constexpr std::int64_t size = 100'000;
  Values v = image(size, 7);
  int fixed = 0, rising = 0;
  for (std::size_t i = 0; i + 1 < v.size(); ++i) {
    fixed += v[i] == static_cast<std::int64_t>(i);
    rising += v[i] < v[i + 1];
  }
  EXPECT_LE(fixed, 8);  // Poisson with mean 1: more than 8 has probability 1e-6
  // Rises of a random permutation: mean (n - 1) / 2, variance (n + 1) / 12.
  EXPECT_NEAR(rising, (size - 1) / 2.0, 5 * std::sqrt((size + 1) / 12.0));
}

}  // namespace
}  // namespace belfry::data
