#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "augment/images.h"

namespace belfry::data {
namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

TEST(Rotate, QuarterTurnIsCounterClockwise) {
  for (DType dtype : {DType::u8, DType::f32})
    for (Interpolation how : {Interpolation::nearest, Interpolation::linear, Interpolation::cubic})
      EXPECT_EQ(
          floats(rotate({.degrees = {90, 90}, .interpolation = how}), numbered({3, 3, 1}, dtype)),
          (Floats{3, 6, 9, 2, 5, 8, 1, 4, 7}));
  EXPECT_EQ(floats(rotate({.degrees = {180, 180}}), numbered({2, 4, 1})),
            (Floats{8, 7, 6, 5, 4, 3, 2, 1}));
  // A wide image turned about its middle: only the square in the middle stays in view.
  EXPECT_EQ(floats(rotate({.degrees = {90, 90}, .fill = 9}), numbered({2, 4, 1})),
            (Floats{9, 3, 7, 9, 9, 2, 6, 9}));
}

TEST(Rotate, DrawsAnglesOfItsRange) {
  constexpr int trials = 1000;
  int early = 0;
  Augmentation a = rotate({.degrees = {-20, 60}, .border = Border::edge});
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    // The pixel right of the middle is fetched from (cos a, sin a).
    Array out = applied(a, coordinates(21, 21), seed);
    double x = out.at(2 * (21 * 10 + 18)) - 10, y = out.at(2 * (21 * 10 + 18) + 1) - 10;
    double degrees = std::atan2(y, x) / std::numbers::pi * 180;
    ASSERT_GT(degrees, -20.5);
    ASSERT_LT(degrees, 60.5);
    early += degrees < 0;
  }
  expect_binomial(early, trials, 0.25);
}

TEST(Affine, DoublesBetweenPixels) {
  EXPECT_EQ(floats(affine({.scale = {2, 2}}), numbered({3, 3, 1})),
            (Floats{3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7}));
}

TEST(Affine, ShearsAboutTheMiddle) {
  Array in = numbered({3, 3, 1});
  EXPECT_EQ(floats(affine({.shear_x = {45, 45}, .interpolation = Interpolation::nearest}), in),
            (Floats{2, 3, 0, 4, 5, 6, 0, 7, 8}));
  EXPECT_EQ(floats(affine({.shear_y = {45, 45}, .interpolation = Interpolation::nearest}), in),
            (Floats{4, 2, 0, 7, 5, 3, 0, 8, 6}));
}

TEST(Affine, TranslatesToBothSides) {
  constexpr int trials = 1000;
  int right = 0, down = 0;
  Augmentation a = affine({.translate_x = 0.25, .translate_y = 0.5, .border = Border::edge});
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    Array out = applied(a, coordinates(41, 41), seed);
    double x = 20 - out.at(2 * (41 * 20 + 20)), y = 20 - out.at(2 * (41 * 20 + 20) + 1);
    ASSERT_LE(std::abs(x), 0.25 * 41 + 0.05);
    ASSERT_LE(std::abs(y), 20.0);
    right += x > 0.125 * 41;
    down += y > 0.25 * 41;
  }
  expect_binomial(right, trials, 0.25);
  expect_binomial(down, trials, 0.25);
}

TEST(Affine, IsTheMapThatItsDescriptionStates) {
  Augmentation a = affine({.degrees = {30, 30},
                           .scale = {1.5, 1.5},
                           .shear_x = {20, 20},
                           .shear_y = {-10, -10},
                           .border = Border::edge});
  constexpr std::int64_t h = 31, w = 41;
  Array out = applied(a, coordinates(h, w));
  double c = std::cos(radians(30)), s = std::sin(radians(30));
  double tx = std::tan(radians(20)), ty = std::tan(radians(-10));
  int inside = 0;
  for (std::int64_t i = 0; i < h * w; ++i) {
    double from_x = out.at(2 * i), from_y = out.at(2 * i + 1);
    if (from_x < 0.1 || from_x > w - 1.1 || from_y < 0.1 || from_y > h - 1.1) continue;
    double x = from_x - 20, y = from_y - 15;
    y += ty * x;                               // Y
    x += tx * y;                               // X
    double to_x = 1.5 * (c * x + s * y) + 20;  // R: counter-clockwise where y points down
    double to_y = 1.5 * (-s * x + c * y) + 15;
    EXPECT_NEAR(to_x, static_cast<double>(i % w), 0.12);
    EXPECT_NEAR(to_y, static_cast<double>(i / w), 0.12);
    ++inside;
  }
  EXPECT_GT(inside, 800);
}

// Whether p lies to the right of the line from a to b, as seen with y pointing down; and by how
// far.
double side(std::array<double, 2> a, std::array<double, 2> b, std::array<double, 2> p) {
  double dx = b[0] - a[0], dy = b[1] - a[1];
  return (dx * (p[1] - a[1]) - dy * (p[0] - a[0])) / std::hypot(dx, dy);
}

TEST(Perspective, PutsTheImageIntoTheDrawnQuadrilateral) {
  constexpr double h = 40, w = 50, distortion = 0.6;
  Augmentation a = perspective({.distortion = distortion, .interpolation = Interpolation::nearest});
  Array ones = Array::of<float>(Floats(static_cast<std::size_t>(h * w), 1), {40, 50, 1});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    PhiloxStream random = inner_stream(seed);
    double d[8];
    for (double& x : d) x = distortion / 2 * random.uniform_double();
    std::array<double, 2> corners[4] = {{d[0] * w - 0.5, d[1] * h - 0.5},
                                        {w - d[2] * w - 0.5, d[3] * h - 0.5},
                                        {w - d[4] * w - 0.5, h - d[5] * h - 0.5},
                                        {d[6] * w - 0.5, h - d[7] * h - 0.5}};
    Array out = applied(a, ones, seed);
    for (std::int64_t i = 0; i < 40 * 50; ++i) {
      std::array<double, 2> p{static_cast<double>(i % 50), static_cast<double>(i / 50)};
      double depth = 1e9;  // how far inside
      for (int k = 0; k < 4; ++k)
        depth = std::min(depth, side(corners[k], corners[(k + 1) % 4], p));
      if (std::abs(depth) > 0.1) {
        EXPECT_EQ(out.at(i), depth > 0 ? 1 : 0) << seed << " at " << p[0] << ", " << p[1];
      }
    }
  }
}

TEST(Perspective, KeepsLinesStraightAndCornersInOrder) {
  Array out =
      applied(perspective({.distortion = 0.5, .border = Border::edge}), coordinates(64, 64));
  auto at = [&](int x, int y) {
    return std::array<double, 2>{out.at(2 * (64 * y + x)), out.at(2 * (64 * y + x) + 1)};
  };
  for (int y : {24, 32, 40})  // well inside, where nothing is repeated from the edge
    EXPECT_NEAR(side(at(24, y), at(40, y), at(31, y)), 0, 0.1);
  EXPECT_LT(at(24, 32)[0], at(40, 32)[0]);
  EXPECT_LT(at(32, 24)[1], at(32, 40)[1]);
}

TEST(Warp, WithoutDistortionChangesNothing) {
  Array in = noise({5, 6, 3}, DType::u8);
  for (const Augmentation& a : {rotate({.degrees = {0, 0}}), affine(),
                                perspective({.distortion = 0}), rotate({.degrees = {360, 360}})})
    EXPECT_TRUE(identical(applied(a, in), in)) << a.name();
}

TEST(Warp, ImageAndMaskMoveAlike) {
  Names masks{"mask"};
  for (Border border : {Border::constant, Border::edge, Border::reflect, Border::symmetric}) {
    for (const Augmentation& a : {rotate({.degrees = {-60, 60},
                                 .interpolation = Interpolation::nearest,
                                 .border = border,
                                 .fill = 5,
                                 .mask_fill = 5,
                                 .masks = masks}),
                                  affine({.degrees = {-20, 20},
                                  .translate_x = 0.2,
                                  .scale = {0.5, 2},
                                  .shear_x = {-20, 20},
                                  .interpolation = Interpolation::nearest,
                                  .border = border,
                                  .fill = 5,
                                  .mask_fill = 5,
                                  .masks = masks}),
                                  perspective({.interpolation = Interpolation::nearest,
                                  .border = border,
                                  .fill = 5,
                                  .mask_fill = 5,
                                  .masks = masks}),
                                  elastic({.interpolation = Interpolation::nearest,
                                  .border = border,
                                  .fill = 5,
                                  .mask_fill = 5,
                                  .masks = masks})}) {
      for (DType dtype : {DType::u8, DType::i32, DType::i64, DType::f16, DType::f64}) {
        Array mask = noise({13, 17}, DType::i32).cast(dtype);
        PhiloxStream random = stream(7);
        Features out =
            a({{"image", mask.cast(DType::f32).reshape({13, 17, 1})}, {"mask", mask}}, random);
        EXPECT_EQ(out.at("mask").dtype(), dtype);
        EXPECT_EQ(values_of<float>(out.at("mask").cast(DType::f32)),
                  values_of<float>(out.at("image")))
            << text(a) << text(dtype);
      }
    }
  }
}

TEST(Warp, MasksAreNeverBlended) {
  Array mask({24, 24}, DType::u8);
  for (std::size_t i = 0; i < 576; ++i) mask.span<std::uint8_t>()[i] = i % 24 < 12 ? 10 : 200;
  for (const Augmentation& a :
       {rotate({.degrees = {5, 85},
       .interpolation = Interpolation::cubic,
       .mask_fill = 255,
       .masks = {"mask"}}),
        elastic({.masks = {"mask"}}), perspective({.mask_fill = 255, .masks = {"mask"}})}) {
    std::set<std::uint8_t> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      PhiloxStream random = stream(seed);
      Features out = a({{"image", noise({24, 24, 3}, DType::u8)}, {"mask", mask}}, random);
      for (std::uint8_t v : out.at("mask").span<std::uint8_t>()) seen.insert(v);
    }
    seen.insert(255);
    EXPECT_EQ(seen, (std::set<std::uint8_t>{10, 200, 255})) << a.name();
  }
}

TEST(Warp, ChannelsBeyondFourMoveToo) {
  Array in = noise({9, 9, 7}, DType::f32);
  Augmentation a = rotate({.degrees = {33, 33}});
  Array out = applied(a, in);
  for (std::int64_t c = 0; c < 7; ++c) {
    Array one({9, 9, 1}, DType::f32);
    for (std::int64_t i = 0; i < 81; ++i)
      one.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(in.at(7 * i + c));
    Array expected = applied(a, one);
    for (std::int64_t i = 0; i < 81; ++i) EXPECT_EQ(out.at(7 * i + c), expected.at(i));
  }
}

TEST(Affine, ShrinksLongImagesToTheirScale) {
  Array in = Array::zeros({600, 32'000, 1}, DType::u8);
  for (std::uint8_t& x : in.span<std::uint8_t>()) x = 1;
  Array out = applied(affine({.scale = {0.05, 0.05}, .interpolation = Interpolation::nearest}), in);
  std::int64_t count = 0;
  for (std::uint8_t x : out.span<std::uint8_t>()) count += x;
  EXPECT_EQ(count, 30 * 1600);  // a twentieth of each side
}

TEST(Affine, RefusesPixelsFromTooFarAway) {
  Array in = Array::zeros({600, 32'000, 1}, DType::u8);
  // The middle stays; the corners come from twenty times tan 89 degrees times half the width above
  // or below, and 20 times half the height nearer.
  double away = 20 * std::tan(radians(89)) * 15'999.5 - 19 * 299.5;
  EXPECT_EQ(call_error(affine({.scale = {0.05, 0.05}, .shear_y = {89, 89}}), {{"image", in}}),
            concat("affine: a corner of an image of 600 x 32000 would be fetched from ",
                   std::llround(away),
                   " pixels away, expected at most 500000; use a larger scale, less shear, or "
                   "smaller images"));
}

TEST(Warp, RefusesOptionsOutOfRange) {
  EXPECT_EQ(error_of([] { rotate({.interpolation = Interpolation::area}); }),
            "rotate: interpolation by area is for resizing; use linear, cubic or nearest");
  EXPECT_EQ(error_of([] {
              rotate({.degrees = {10, -10}});
            }),
            "rotate: degrees must be [low, high] with low at most high, got [10, -10]");
  for (auto make : {+[] {
                      rotate({.degrees = {-361, 0}});
                    },
                    +[] {
                      affine({.degrees = {0, 1e9}});
                    },
                    +[] {
                      rotate3d({.degrees = {-361, 0}});
                    }})
    EXPECT_THAT(error_of(make), ::testing::HasSubstr(": degrees must be from -360 to 360, got ["));
  EXPECT_EQ(error_of([] {
              affine({.scale = {0.04, 1}});
            }),
            "affine: scale must be from 0.05 to 1000, got [0.04, 1]");
  EXPECT_EQ(error_of([] {
              affine({.shear_y = {-90, 0}});
            }),
            "affine: shear must be from -89 to 89 degrees, got [-90, 0]");
  EXPECT_EQ(error_of([] { affine({.translate_y = 3}); }),
            "affine: translate is a fraction of the size from 0 to 1, got 3");
  EXPECT_EQ(error_of([] { perspective({.distortion = 0.7}); }),
            "perspective: distortion must be at least 0 and below 2/3, got 0.7");
}

}  // namespace
}  // namespace belfry::data
