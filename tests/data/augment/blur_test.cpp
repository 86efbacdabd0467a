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
