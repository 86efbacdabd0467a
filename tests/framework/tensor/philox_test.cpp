#include "belfry/framework/tensor/philox.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

// Known answers published with Random123 for philox4x32-10; words are low word first.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox({0}, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({~0ull}, ~0ull, ~0ull),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x299f31d0a4093822}, 0x85a308d3243f6a88, 0x0370734413198a2e),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(PhiloxKeyOf, SeedNameAndStreamAllCount) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* name : {"", "a", "b", "ab", "conv1/kernel", "conv1/bias"})
      keys.insert(philox_key(seed, name).value);
    for (std::uint64_t stream = 0; stream < 100; ++stream)
      keys.insert(philox_key(seed, stream).value);
  }
  EXPECT_EQ(keys.size(), 100u * 106u);
  EXPECT_EQ(philox_key(7, "dropout"), philox_key(7, "dropout"));
}

// Stored so that a run can be repeated with a later version. philox_key(s, n) is SplitMix64's
// mix(mix(s) ^ n); mix(0) is the first output of SplitMix64 seeded with 0.
TEST(PhiloxKeyOf, DoesNotChangeBetweenVersions) {
  constexpr std::uint64_t mix_of_0 = 0xe220a8397b1dcdaf;
  EXPECT_EQ(philox_key(0, mix_of_0).value, mix_of_0);
  // FNV-1a of the empty text is its offset basis.
  EXPECT_EQ(philox_key(5, ""), philox_key(5, std::uint64_t{0xcbf29ce484222325}));
  EXPECT_EQ(philox_key(5, "a"), philox_key(5, std::uint64_t{0xaf63dc4c8601ec8c}));
}

TEST(UniformFloat, CoversZeroToBelowOne) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_EQ(uniform_float(0xff), 0.0f);
  EXPECT_EQ(uniform_float(0x100), 0x1p-24f);
  EXPECT_EQ(uniform_float(0x80000000), 0.5f);
  EXPECT_EQ(uniform_float(0xffffffff), 1.0f - 0x1p-24f);
}

TEST(PhiloxStream, ReadsBlockAfterBlock) {
  PhiloxKey key = philox_key(1, "x");
  PhiloxStream stream(key, 9);
  for (std::uint64_t counter = 0; counter < 3; ++counter)
    for (std::uint32_t word : philox(key, counter, 9)) EXPECT_EQ(stream.next_u32(), word);
  PhiloxStream wide(key, 9);
  auto block = philox(key, 0, 9);
  EXPECT_EQ(wide.next_u64(), std::uint64_t{block[0]} << 32 | block[1]);
  PhiloxStream copy = wide;
  EXPECT_EQ(copy.next_u32(), wide.next_u32());
}

TEST(PhiloxStream, BelowIsUniformAndInRange) {
  PhiloxStream stream(philox_key(2, "below"));
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts.at(stream.below(6));
  // Five standard deviations of a binomial with n = 60000, p = 1/6: 5 * 91.3.
  for (int count : counts) EXPECT_NEAR(count, 10'000, 457);
  EXPECT_EQ(stream.below(1), 0u);
  constexpr std::uint64_t large = (1ull << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.below(large), large);
  EXPECT_THROW(stream.below(0), Error);
}

TEST(PhiloxStream, UniformAndNormalHaveTheirMoments) {
  constexpr int n = 100'000;
  PhiloxStream stream(philox_key(3, "moments"));
  double sum = 0, sum_squares = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < n; ++i) {
    double u = stream.uniform_double();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u, sum_squares += u * u;
    double z = stream.normal();
    normal_sum += z, normal_squares += z * z, normal_fourth += z * z * z * z;
  }
  // Each within five standard deviations of the mean of n draws.
  double root = std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(sum_squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45) / root);
  EXPECT_NEAR(normal_sum / n, 0, 5 / root);
  EXPECT_NEAR(normal_squares / n, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(normal_fourth / n, 3, 5 * std::sqrt(96.0) / root);
}

TEST(PhiloxStream, FlipFollowsItsProbability) {
  PhiloxStream stream(philox_key(4, "flip"));
  int heads = 0;
  for (int i = 0; i < 10'000; ++i) {
    heads += stream.flip(0.25f);
    EXPECT_FALSE(stream.flip(0));
    EXPECT_TRUE(stream.flip(1));
  }
  EXPECT_NEAR(heads, 2500, 5 * 43.3);
  float low = stream.uniform(-3, -2);
  EXPECT_TRUE(low >= -3 && low <= -2) << low;
}

}  // namespace
}  // namespace belfry
