#include <cmath>

#include "augment/images.h"

namespace belfry::data {
namespace {

TEST(Elastic, WithoutStrengthChangesNothing) {
  Array in = noise({9, 11, 3}, DType::u8);
  EXPECT_TRUE(identical(applied(elastic({.alpha = 0}), in), in));
}

// Displacements in x and y of the pixels that are not near the border.
std::array<Floats, 2> displacements(const ElasticOptions& options, std::int64_t side) {
  Array out = applied(elastic(options), coordinates(side, side));
  std::array<Floats, 2> d;
  for (std::int64_t y = 20; y < side - 20; ++y)
    for (std::int64_t x = 20; x < side - 20; ++x)
      for (int c = 0; c < 2; ++c)
        d[static_cast<std::size_t>(c)].push_back(static_cast<float>(
            out.at(2 * (side * y + x) + c) - static_cast<double>(c == 0 ? x : y)));
  return d;
}

double mean_product(const Floats& a, const Floats& b, std::size_t lag = 0) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < a.size(); ++i)
    sum += static_cast<double>(a[i + lag]) * static_cast<double>(b[i]);
  return sum / static_cast<double>(a.size() - lag);
}

TEST(Elastic, DisplacesAsStronglyAsItsDescriptionStates) {
  // 320 x 320 pixels hold some 320 x 320 / (4 pi 3^2) = 900 independent displacements, so that the
  // variance found is within a quarter of the true one with certainty enough.
  auto [x, y] = displacements({.alpha = 40, .sigma = 3}, 360);
  double variance = std::pow(40 * 0.163 / 3, 2);
  for (const Floats& d : {x, y}) {
    EXPECT_NEAR(mean_product(d, d) / variance, 1, 0.25);
    // Smoothed by a Gaussian: the correlation at distance r is exp(-r^2 / (4 sigma^2)).
    EXPECT_NEAR(mean_product(d, d, 3) / variance, std::exp(-0.25), 0.25);
  }
  EXPECT_NEAR(mean_product(x, y) / variance, 0, 0.2);  // independent of each other
}

TEST(Elastic, FillsOrReflectsWhatComesFromOutside) {
  Array in = Array::of<float>(Floats(100, 1), {10, 10, 1});
  auto sum = [&](const Augmentation& a) {
    double total = 0;
    for (float x : floats(a, in)) total += static_cast<double>(x);
    return total;
  };
  EXPECT_FLOAT_EQ(static_cast<float>(sum(elastic({.alpha = 200}))), 100);
  EXPECT_LT(sum(elastic({.alpha = 200, .border = Border::constant})), 95);
}

TEST(Elastic, RefusesOptionsOutOfRange) {
  EXPECT_EQ(error_of([] { elastic({.alpha = -1}); }),
            "elastic: alpha must be from 0 to 10000, got -1");
  EXPECT_EQ(error_of([] { elastic({.sigma = 0}); }),
            "elastic: sigma must be above 0 and at most 200, got 0");
}

}  // namespace
}  // namespace belfry::data
