#include <cmath>

#include "augment/images.h"

namespace belfry::data {
namespace {

TEST(GaussianBlur, SpreadsAPointAsAGaussian) {
  Array in = Array::zeros({9, 9, 1});
  in.span<float>()[40] = 1;
  Floats out = floats(gaussian_blur({.sigma = {1, 1}}), in);
  auto bell = [](int x) { return std::abs(x) > 3 ? 0 : std::exp(-x * x / 2.0); };
  double sum = 0;
  for (int x = -3; x <= 3; ++x) sum += bell(x);
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x)
      EXPECT_NEAR(out[static_cast<std::size_t>(9 * y + x)], bell(x - 4) * bell(y - 4) / sum / sum,
                  1e-6);
}

TEST(GaussianBlur, KeepsWhatIsConstant) {
  for (DType dtype : {DType::u8, DType::f32}) {
    Array in = Array::of<float>(Floats(60, 200), {4, 3, 5}).cast(dtype);
    EXPECT_THAT(floats(gaussian_blur({.sigma = {0.1, 5}}), in),
                ::testing::Each(::testing::FloatNear(200, 1e-3f)));
  }
}

// One axis of a Gaussian blur in double precision, `step` apart; reflected at the ends.
std::vector<double> blurred(const std::vector<double>& in, std::int64_t lines, std::int64_t apart,
                            std::int64_t length, std::int64_t step, double sigma) {
  auto reach = static_cast<std::int64_t>(std::ceil(3 * sigma));
  std::vector<double> out(in.size());
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t i = 0; i < length; ++i) {
      double sum = 0, weights = 0;
      for (std::int64_t k = -reach; k <= reach; ++k) {
        std::int64_t p = i + k;
        while (p < 0 || p >= length) p = p < 0 ? -p : 2 * length - 2 - p;
        double weight = std::exp(-static_cast<double>(k * k) / (2 * sigma * sigma));
        sum += weight * in[static_cast<std::size_t>(line * apart + p * step)];
        weights += weight;
      }
      out[static_cast<std::size_t>(line * apart + i * step)] = sum / weights;
    }
  return out;
}

TEST(GaussianBlur, OfBytesIsRoundedOnce) {
  constexpr std::int64_t h = 20, w = 30;
  Array in({h, w, 1}, DType::u8);  // an edge, and noise besides
  PhiloxStream random = stream(5);
  std::vector<double> values;
  for (std::int64_t i = 0; i < h * w; ++i) {
    std::uint8_t x = i % w < 10 ? 255 : static_cast<std::uint8_t>(random.below(2) * 255);
    in.span<std::uint8_t>()[static_cast<std::size_t>(i)] = x;
    values.push_back(x);
  }
  for (double sigma : {0.4, 2.0, 5.0, 30.0}) {
    std::vector<double> expected = blurred(blurred(values, h, w, w, 1, sigma), w, 1, h, w, sigma);
    Array out = applied(gaussian_blur({.sigma = {sigma, sigma}}), in);
    for (std::int64_t i = 0; i < h * w; ++i)
      ASSERT_NEAR(out.at(i), expected[static_cast<std::size_t>(i)], 0.5 + 1e-3)
          << sigma << " at " << i;
  }
}

TEST(GaussianBlur, RefusesSigmaOutOfRange) {
  EXPECT_EQ(error_of([] {
              gaussian_blur({.sigma = {0, 1}});
            }),
            "gaussian_blur: sigma must be above 0 and at most 100, got [0, 1]");
  EXPECT_EQ(error_of([] {
              gaussian_blur({.sigma = {1, 101}});
            }),
            "gaussian_blur: sigma must be above 0 and at most 100, got [1, 101]");
}

}  // namespace
}  // namespace belfry::data
