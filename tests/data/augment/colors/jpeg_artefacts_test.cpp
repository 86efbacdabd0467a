#include <cmath>

#include "augment/images.h"

namespace belfry::data {
namespace {

Augmentation quality(std::int64_t q) { return jpeg_artefacts({.quality = {q, q}}); }

double error_after(const Augmentation& a, const Array& in) {
  Floats before = values_of<float>(in.cast(DType::f32)), after = floats(a, in);
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    sum += std::abs(static_cast<double>(before[i]) - static_cast<double>(after[i]));
  return sum / static_cast<double>(before.size());
}

TEST(JpegArtefacts, GrowAsQualityFalls) {
  for (std::int64_t channels : {1, 3}) {
    // Grey in any number of channels: colours lose resolution even at the highest quality.
    Array gray = noise({32, 40, 1}, DType::u8), in({32, 40, channels}, DType::u8);
    for (std::int64_t i = 0; i < in.elements(); ++i)
      in.span<std::uint8_t>()[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(gray.at(i / channels));
    double fine = error_after(quality(95), in), poor = error_after(quality(10), in);
    EXPECT_GT(fine, 0.1);
    EXPECT_GT(poor, 3 * fine);
    Array as_float = applied(to_float(), in);
    EXPECT_NEAR(error_after(quality(10), as_float) * 255, poor, 1e-3);
  }
}

TEST(JpegArtefacts, KeepFlatColoursInTheirChannels) {
  Bytes flat;
  for (int i = 0; i < 256; ++i) flat.insert(flat.end(), {200, 60, 20});
  Floats out = floats(quality(90), image<std::uint8_t>({16, 16, 3}, flat));
  for (std::size_t i = 0; i < out.size(); i += 3) {
    EXPECT_NEAR(out[i], 200, 4);
    EXPECT_NEAR(out[i + 1], 60, 4);
    EXPECT_NEAR(out[i + 2], 20, 4);
  }
}

TEST(JpegArtefacts, DrawEveryQuality) {
  Array in = noise({16, 16, 1}, DType::u8);
  int first = 0;
  Floats at_20 = floats(quality(20), in), at_21 = floats(quality(21), in);
  ASSERT_NE(at_20, at_21);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Floats out = floats(jpeg_artefacts({.quality = {20, 21}}), in, seed);
    ASSERT_TRUE(out == at_20 || out == at_21);
    first += out == at_20;
  }
  expect_binomial(first, 500, 0.5);
  EXPECT_EQ(error_of([] {
              jpeg_artefacts({.quality = {0, 5}});
            }),
            "jpeg_artefacts: quality must be from 1 to 100, got [0, 5]");
}

}  // namespace
}  // namespace belfry::data
