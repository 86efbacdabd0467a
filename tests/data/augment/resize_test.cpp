#include <map>

#include "augment/images.h"

namespace belfry::data {
namespace {

Augmentation to(std::int64_t height, std::int64_t width, Interpolation how = Interpolation::linear,
                bool antialias = true) {
  return resize({.height = height, .width = width, .interpolation = how, .antialias = antialias});
}

TEST(Resize, GrowsLinearlyBetweenPixelCentres) {
  Array in = image<float>({1, 2, 1}, {0, 4});
  EXPECT_EQ(floats(to(1, 4), in), (Floats{0, 1, 3, 4}));
  EXPECT_EQ(floats(to(2, 4), in), (Floats{0, 1, 3, 4, 0, 1, 3, 4}));
  EXPECT_EQ(floats(to(1, 4), image<std::uint8_t>({1, 2, 1}, {0, 200})), (Floats{0, 50, 150, 200}));
  EXPECT_EQ(floats(to(3, 3), image<float>({1, 1, 2}, {5, 6})),
            (Floats{5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6}));
}

TEST(Resize, ShrinksByTheMeanOfTheArea) {
  EXPECT_EQ(floats(to(2, 2), numbered({4, 4, 1})), (Floats{3.5, 5.5, 11.5, 13.5}));
  // Pixels are 1.5 wide: (0 + 3 / 2) / 1.5 and (3 / 2 + 6) / 1.5.
  EXPECT_THAT(floats(to(1, 2), image<float>({1, 3, 1}, {0, 3, 6})),
              ::testing::Pointwise(::testing::FloatNear(1e-6f), Floats{1, 5}));
  EXPECT_EQ(floats(to(1, 1), numbered({1, 3, 5}, DType::u8)), (Floats{6, 7, 8, 9, 10}));
}

TEST(Resize, ShrinksOneAxisAndGrowsTheOther) {
  // Rows (0 4), (8 12), (2 2), (2 2): means of pairs are (4 8), (2 2).
  Array in = image<float>({4, 2, 1}, {0, 4, 8, 12, 2, 2, 2, 2});
  EXPECT_EQ(floats(to(2, 4), in), (Floats{4, 5, 7, 8, 2, 2, 2, 2}));
  EXPECT_EQ(floats(to(2, 4, Interpolation::area), in), (Floats{4, 4, 8, 8, 2, 2, 2, 2}));
}

TEST(Resize, WithoutAntialiasSamplesTwoPixels) {
  Array in = image<float>({1, 6, 1}, {0, 1, 0, 0, 1, 0});
  EXPECT_EQ(floats(to(1, 2, Interpolation::linear, false), in), (Floats{1, 1}));
  EXPECT_THAT(floats(to(1, 2), in),
              ::testing::Pointwise(::testing::FloatNear(1e-6f), Floats{1 / 3.f, 1 / 3.f}));
}

TEST(Resize, NearestTakesThePixelUnderTheCentre) {
  Array in = numbered({1, 6, 1}, DType::u8);
  EXPECT_EQ(floats(to(1, 2, Interpolation::nearest), in), (Floats{2, 5}));
  EXPECT_EQ(floats(to(1, 4, Interpolation::nearest), in), (Floats{1, 3, 4, 6}));
  EXPECT_EQ(floats(to(3, 6, Interpolation::nearest), numbered({1, 2, 1})),
            (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(Resize, CubicHasPyTorchsCoefficient) {
  // Twice as large: the third new pixel stands 1/4 before the second old one, whose weight is
  // (a + 2) t^3 - (a + 3) t^2 + 1 with a = -3/4, t = 1/4.
  Floats out = floats(to(1, 8, Interpolation::cubic), image<float>({1, 4, 1}, {0, 1, 0, 0}));
  EXPECT_FLOAT_EQ(out[2], 0.87890625f);
}

TEST(Resize, AreaGrowsToo) {
  // New pixels are 2/3 of an old one wide: the middle one is half of each.
  EXPECT_THAT(floats(to(1, 3, Interpolation::area), image<float>({1, 2, 1}, {0, 6})),
              ::testing::Pointwise(::testing::FloatNear(1e-5f), Floats{0, 3, 6}));
}

TEST(Resize, MasksKeepTheirValues) {
  Augmentation joint = resize({.height = 7, .width = 5, .masks = {"mask"}});
  PhiloxStream random = stream(1);
  Features out = joint({{"image", noise({4, 9, 3}, DType::u8)},
                        {"mask", image<std::int64_t>({4, 9}, std::vector<std::int64_t>(36, 7))}},
                       random);
  EXPECT_EQ(out.at("image").type(), (TensorType{{7, 5, 3}, DType::u8}));
  EXPECT_EQ(out.at("mask").type(), (TensorType{{7, 5}, DType::i64}));
  for (int i = 0; i < 35; ++i) EXPECT_EQ(out.at("mask").at(i), 7);
}

TEST(ResizeShortSide, KeepsTheShape) {
  Augmentation a = resize_short_side({.size = 4});
  EXPECT_EQ(applied(a, numbered({8, 11, 1})).shape(), (Shape{4, 5, 1}));  // 5.5
  EXPECT_EQ(applied(a, numbered({3, 2, 1})).shape(), (Shape{6, 4, 1}));
  EXPECT_EQ(applied(a, numbered({1, 1, 2})).shape(), (Shape{4, 4, 2}));
  EXPECT_EQ(call_error(resize_short_side({.size = 100}), {{"image", numbered({1, 400, 1})}}),
            "resize_short_side: the longer side must be from 1 to 32766, got 40000");
}

TEST(MultiScale, DrawsOneOfTheSizes) {
  Augmentation a = multi_scale({.sizes = {2, 5, 7}});
  std::map<std::int64_t, int> seen;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Array out = applied(a, numbered({3, 4, 1}, DType::u8), seed);
    ASSERT_EQ(out.shape()[0], out.shape()[1]);
    ++seen[out.shape()[0]];
  }
  for (std::int64_t size : {2, 5, 7}) expect_binomial(seen[size], 3000, 1.0 / 3);
}

TEST(Resize, RefusesSizesOutOfRange) {
  EXPECT_EQ(error_of([] { resize({.height = 40'000, .width = 2}); }),
            "resize: height must be from 1 to 32766, got 40000");
  EXPECT_EQ(error_of([] { resize_short_side({}); }),
            "resize_short_side: size must be from 1 to 32766, got 0");
  EXPECT_EQ(error_of([] { multi_scale({}); }), "multi_scale: sizes must be given");
  EXPECT_EQ(error_of([] {
              multi_scale({.sizes = {4, 0}});
            }),
            "multi_scale: each of sizes must be from 1 to 32766, got 0");
}

}  // namespace
}  // namespace belfry::data
