#include <cmath>

#include "augment/images.h"

namespace belfry::data {
namespace {

TEST(GaussianNoise, HasTheDrawnDeviation) {
  constexpr std::int64_t n = 100 * 100 * 3;
  Array in = Array::of<float>(Floats(n, 0.5f), {100, 100, 3});
  for (DType dtype : {DType::f32, DType::u8}) {
    Array start = dtype == DType::f32
                      ? in
                      : image<std::uint8_t>({100, 100, 3}, Bytes(static_cast<std::size_t>(n), 100));
    Floats out = floats(gaussian_noise({.deviation = {0.05, 0.05}}), start);
    double scale = dtype == DType::f32 ? 0.05 : 0.05 * 255, middle = start.at(0);
    // Normal: 84.13 % lie below one standard deviation, 2.275 % below minus two. Bytes are rounded:
    // those at 100 + 12.75 or less are 112 or less if below 112.5.
    double one = dtype == DType::f32 ? 1 : 12.5 / 12.75,
           two = dtype == DType::f32 ? 2 : 25.5 / 12.75;
    auto count = [&](double bound) {
      return std::count_if(out.begin(), out.end(),
                           [=](float x) { return static_cast<double>(x) < bound; });
    };
    expect_binomial(count(middle + one * scale), n, std::erfc(-one / std::sqrt(2.0)) / 2);
    expect_binomial(count(middle - two * scale), n, std::erfc(two / std::sqrt(2.0)) / 2);
  }
}

TEST(GaussianNoise, ClipsIfAsked) {
  Array in = Array::of<float>(Floats(1000, 1), {10, 100, 1});
  auto above = [&](bool clip) {
    Floats out = floats(gaussian_noise({.deviation = {0.5, 0.5}, .clip = clip}), in);
    EXPECT_EQ(clip, *std::min_element(out.begin(), out.end()) >= 0);
    return std::count_if(out.begin(), out.end(), [](float x) { return x > 1; });
  };
  EXPECT_EQ(above(true), 0);
  expect_binomial(above(false), 1000, 0.5);
}

TEST(GaussianNoise, OfDeviationZeroIsNone) {
  Array in = noise({3, 3, 3}, DType::u8);
  EXPECT_TRUE(identical(applied(gaussian_noise({.deviation = {0, 0}}), in), in));
  EXPECT_EQ(error_of([] {
              gaussian_noise({.deviation = {-1, 0}});
            }),
            "gaussian_noise: deviation must be from 0 to 10, got [-1, 0]");
}

}  // namespace
}  // namespace belfry::data
