#include <cmath>
#include <set>

#include "augment/images.h"

namespace belfry::data {
namespace {

TEST(Elastic3d, WithoutStrengthChangesNothing) {
  for (DType dtype : {DType::u8, DType::f32}) {
    Array in = noise({4, 5, 6, 2}, dtype);
    EXPECT_TRUE(identical(applied(elastic3d({.alpha = 0}), in), in));
  }
}

// Each voxel holds its own place.
Array places(std::int64_t side) {
  Array out({side, side, side, 3}, DType::f32);
  float* p = out.span<float>().data();
  for (std::int64_t z = 0; z < side; ++z)
    for (std::int64_t y = 0; y < side; ++y)
      for (std::int64_t x = 0; x < side; ++x)
        for (std::int64_t v : {z, y, x}) *p++ = static_cast<float>(v);
  return out;
}

TEST(Elastic3d, DisplacesAsStronglyAsItsDescriptionStates) {
  constexpr std::int64_t side = 48;
  Array in = places(side);
  Array out = applied(elastic3d({.alpha = 30, .sigma = 2}), in);
  double sum[3] = {0, 0, 0}, next[3] = {0, 0, 0}, count = 0;
  for (std::int64_t z = 8; z < side - 8; ++z)
    for (std::int64_t y = 8; y < side - 8; ++y)
      for (std::int64_t x = 8; x < side - 8; ++x, ++count)
        for (int c = 0; c < 3; ++c) {
          auto displacement = [&](std::int64_t at) {
            return out.at(3 * at + c) - in.at(3 * at + c);
          };
          std::int64_t here = (z * side + y) * side + x;
          sum[c] += displacement(here) * displacement(here);
          // Two voxels on along the depth: the correlation is exp(-4 / (4 sigma^2)).
          next[c] += displacement(here) * displacement(here + 2 * side * side);
        }
  double variance = std::pow(30 * 0.0865 / std::pow(2, 1.5), 2);
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(sum[c] / count / variance, 1, 0.25);
    EXPECT_NEAR(next[c] / count / variance, std::exp(-0.25), 0.25);
  }
}

TEST(Elastic3d, StaysWithinTheVolumeAndKeepsMaskValues) {
  Array mask = noise({7, 8, 9}, DType::i32).cast(DType::i64);
  Augmentation a = elastic3d({.alpha = 300, .sigma = 1.5, .masks = {"mask"}});
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    PhiloxStream random = stream(seed);
    Features out = a({{"image", noise({7, 8, 9, 1}, DType::f32)}, {"mask", mask}}, random);
    for (float x : out.at("image").span<float>()) ASSERT_TRUE(x >= 0 && x < 1);
    for (std::int64_t i = 0; i < mask.elements(); ++i) seen.insert(out.at("mask").at(i));
  }
  EXPECT_EQ(seen, (std::set<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Elastic3d, MaskFollowsTheImage) {
  // The image is the place along the width; the mask is that place as a number.
  constexpr std::int64_t side = 20;
  Array in = places(side), mask({side, side, side}, DType::i32);
  for (std::int64_t i = 0; i < mask.elements(); ++i)
    mask.span<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % side);
  PhiloxStream random = stream(2);
  Features out = elastic3d({.masks = {"mask"}})({{"image", in}, {"mask", mask}}, random);
  for (std::int64_t i = 0; i < mask.elements(); ++i)
    ASSERT_NEAR(out.at("mask").at(i), out.at("image").at(3 * i + 2), 0.5001);
}

TEST(Elastic3d, RefusesOptionsOutOfRange) {
  EXPECT_EQ(error_of([] { elastic3d({.alpha = 1e6}); }),
            "elastic3d: alpha must be from 0 to 10000, got 1e+06");
  EXPECT_EQ(error_of([] { elastic3d({.sigma = 51}); }),
            "elastic3d: sigma must be above 0 and at most 50, got 51");
}

}  // namespace
}  // namespace belfry::data
