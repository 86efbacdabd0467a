#include <map>

#include "augment/images.h"

namespace belfry::data {
namespace {

Array ones(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return Array::of<float>(Floats(static_cast<std::size_t>(height * width * channels), 1),
                          {height, width, channels});
}

// The bounding box of what is not 1 in a [h, w, 1] image, and how many such pixels there are.
struct Hole {
  std::int64_t top = 1 << 20, left = 1 << 20, bottom = 0, right = 0, count = 0;
  std::int64_t height() const { return bottom - top; }
  std::int64_t width() const { return right - left; }
};

Hole hole_in(const Array& image) {
  Hole out;
  std::int64_t w = image.shape()[1];
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    if (image.at(i) == 1) continue;
    out.top = std::min(out.top, i / w);
    out.left = std::min(out.left, i % w);
    out.bottom = std::max(out.bottom, i / w + 1);
    out.right = std::max(out.right, i % w + 1);
    ++out.count;
  }
  return out;
}

TEST(Cutout, CoversASquareAroundAnyPixel) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> corners;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Hole hole = hole_in(applied(cutout({.size = 3, .fill = 0.5}), ones(4, 4, 1), seed));
    // Centres 0 to 3: rows 0-1, 0-2, 1-3, 2-3.
    ASSERT_EQ(hole.count, hole.height() * hole.width());
    ++corners[{hole.top + hole.bottom, hole.left + hole.right}];
  }
  ASSERT_EQ(corners.size(), 16u);
  // First row plus the one after the last: 0 + 2, 0 + 3, 1 + 4, 2 + 4; and columns likewise.
  for (std::int64_t y : {2, 3, 5, 6})
    for (std::int64_t x : {2, 3, 5, 6}) expect_binomial(corners[{y, x}], 4000, 1.0 / 16);
}

TEST(Cutout, FillsAllChannels) {
  for (DType dtype : {DType::u8, DType::f32})
    EXPECT_EQ(floats(cutout({.size = 100, .fill = 7}), numbered({2, 3, 3}, dtype)), Floats(18, 7));
  int dark = 0;
  for (float x : floats(cutout({.size = 1, .count = 3}), ones(40, 40, 2))) dark += x == 0;
  EXPECT_EQ(dark, 6);
}

TEST(Erase, RoundsTheFillOrRefusesIt) {
  RandomErasingOptions erasing{.probability = 1, .scale = {0.9, 0.9}, .ratio = {1, 1}};
  Array in = Array::zeros({100, 100, 1}, DType::u8);
  for (auto [fill, held] : {std::pair{127.5, 128.0}, {126.5, 127.0}, {254.4, 254.0}, {-0.4, 0.0}}) {
    EXPECT_EQ(applied(cutout({.size = 300, .fill = fill}), in).at(0), held);
    erasing.fill = fill;
    EXPECT_EQ(applied(random_erasing(erasing), in).at(5050), held);
  }
  for (double fill : {-1.0, 255.5, 300.0}) {
    erasing.fill = fill;
    for (const Augmentation& a : {cutout({.fill = fill}), random_erasing(erasing)})
      EXPECT_EQ(call_error(a, {{"image", in}}),
                concat(a.name(), ": fill ", fill,
                       " does not fit the image `image`, u8: use 0 to 255, or cast() it in a map "
                       "before"));
  }
  EXPECT_EQ(call_error(cutout({.fill = 1e300}), {{"image", numbered({2, 2, 1})}}),
            "cutout: fill 1e+300 does not fit the image `image`, f32: use a number that f32 holds, "
            "or cast() it in a map before");
}

TEST(RandomErasing, CopiesNothingWhereNothingHappens) {
  Array in = noise({20, 20, 3}, DType::u8);
  EXPECT_EQ(applied(random_erasing({.probability = 0}), in).raw(), in.raw());
  EXPECT_NE(applied(random_erasing({.probability = 1}), in).raw(), in.raw());
}

TEST(RandomErasing, DrawsAreaAndShapeOfItsRanges) {
  constexpr int trials = 2000;
  int erased = 0, small = 0, tall = 0;
  Augmentation a = random_erasing({.probability = 0.6, .scale = {0.1, 0.3}, .ratio = {0.5, 2}});
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    Hole hole = hole_in(applied(a, ones(60, 60, 1), seed));
    if (hole.count == 0) continue;
    ++erased;
    ASSERT_EQ(hole.count, hole.height() * hole.width());
    double area = static_cast<double>(hole.count) / 3600;
    double ratio = static_cast<double>(hole.height()) / static_cast<double>(hole.width());
    ASSERT_TRUE(area > 0.095 && area < 0.31 && ratio > 0.46 && ratio < 2.15)
        << area << " " << ratio;
    small += area < 0.2;
    tall += ratio > 1;
  }
  expect_binomial(erased, trials, 0.6);
  // Rounding to whole pixels moves some across the middle: bounds are those of 0.47 and 0.53.
  EXPECT_NEAR(small, erased / 2.0, 0.08 * erased);
  EXPECT_NEAR(tall, erased / 2.0, 0.08 * erased);
}

TEST(RandomErasing, FillsWithNoise) {
  RandomErasingOptions all{.probability = 1, .scale = {0.5, 0.9}, .noise = true};
  Floats out = floats(random_erasing(all), ones(100, 100, 3));
  std::int64_t changed = std::count_if(out.begin(), out.end(), [](float x) { return x != 1; });
  std::int64_t below = std::count_if(out.begin(), out.end(), [](float x) { return x < 0; });
  EXPECT_GT(changed, 100 * 100);
  expect_binomial(below, changed, 0.5);
  Floats bytes = floats(random_erasing(all), Array::zeros({100, 100, 1}, DType::u8));
  std::int64_t not_zero = std::count_if(bytes.begin(), bytes.end(), [](float x) { return x > 0; });
  std::int64_t high = std::count_if(bytes.begin(), bytes.end(), [](float x) { return x > 127; });
  expect_binomial(high, not_zero, 128.0 / 255);
}

TEST(RandomErasing, LeavesImagesThatAreTooSmall) {
  Array in = numbered({1, 5, 1});
  EXPECT_EQ(floats(random_erasing({.probability = 1, .scale = {1, 1}, .ratio = {1, 1}}), in),
            values_of<float>(in));
}

TEST(Erase, RefusesOptionsOutOfRange) {
  EXPECT_EQ(error_of([] { cutout({.size = 0}); }), "cutout: size must be from 1 to 32766, got 0");
  EXPECT_EQ(error_of([] { cutout({.count = -2}); }),
            "cutout: count must be from 1 to 10000, got -2");
  EXPECT_EQ(error_of([] { cutout({.count = 10'001}); }),
            "cutout: count must be from 1 to 10000, got 10001");
  EXPECT_EQ(error_of([] {
              random_erasing({.scale = {0.1, 1.5}});
            }),
            "random_erasing: scale must be above 0 and at most 1, got [0.1, 1.5]");
  EXPECT_EQ(error_of([] {
              random_erasing({.ratio = {0, 1}});
            }),
            "random_erasing: ratio must be from 0.001 to 1000, got [0, 1]");
}

}  // namespace
}  // namespace belfry::data
