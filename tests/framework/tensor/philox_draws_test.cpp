#include "belfry/framework/tensor/philox_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace belfry {
namespace {

constexpr PhiloxKey key{0x0123456789abcdef};

std::vector<double> uniforms(std::uint64_t first, std::size_t count) {
  std::vector<double> out(count);
  uniform_draws(key, first, out);
  return out;
}

TEST(PhiloxDraws, UniformOnesAreThoseOfTheStreamFromAnyPlaceOn) {
  PhiloxStream stream(key);
  std::vector<double> expected(2000);
  for (double& x : expected) x = stream.uniform_double();
  for (std::uint64_t first : {0, 1, 255, 256, 777})
    for (std::size_t count : {0, 1, 2, 255, 256, 257, 1000})
      EXPECT_EQ(uniforms(first, count),
                std::vector(expected.begin() + static_cast<std::ptrdiff_t>(first),
                            expected.begin() + static_cast<std::ptrdiff_t>(first + count)))
          << first << ", " << count;
}

// Two draws a block, each of 53 bits.
TEST(PhiloxDraws, UniformOnesCountBlocksBeyond32Bits) {
  std::uint64_t block = (std::uint64_t{1} << 32) - 3;
  std::vector<double> drawn = uniforms(2 * block, 12);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    auto words = philox(key, block + i / 2);
    std::uint64_t bits = std::uint64_t{words[i % 2 * 2]} << 32 | words[i % 2 * 2 + 1];
    EXPECT_EQ(drawn[i], static_cast<double>(bits >> 11) / 9007199254740992.0);
  }
}

TEST(PhiloxDraws, NormalOnesAreThoseOfTheStream) {
  PhiloxStream stream(key);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(normal_draw(key, i), stream.normal());
}

TEST(PhiloxDraws, NearOnesAreAsNearAsTheySay) {
  for (std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{300}, (std::uint64_t{1} << 32) - 50}) {
    std::vector<double> z(100'003), radius(z.size());
    near_normal_draws(key, first, z, radius);
    double worst = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      double exact = normal_draw(key, first + i);
      worst = std::max(worst, std::abs(z[i] - exact) / radius[i]);
      ASSERT_LE(std::abs(exact), radius[i] * (1 + 1e-15)) << i;
    }
    EXPECT_LE(worst, near_normal_error / 500) << first;
    EXPECT_GT(worst, 0);
  }
}

}  // namespace
}  // namespace belfry
