// Covers color.cpp and adjust.cpp.
#include "augment/images.h"

namespace belfry::data {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

Range exactly(double value) { return {value, value}; }
auto near(const Floats& expected) { return Pointwise(FloatNear(1e-5f), expected); }

TEST(Brightness, Multiplies) {
  Augmentation a = brightness({.factor = exactly(1.5)});
  // Bytes are rounded: 1.5, 150, 255 (not 300), 4.5.
  EXPECT_EQ(floats(a, image<std::uint8_t>({2, 2, 1}, {1, 100, 200, 3})), (Floats{2, 150, 255, 5}));
  EXPECT_THAT(floats(a, image<float>({1, 2, 2}, {0.1f, 0.5f, 0.7f, 0})),
              near({0.15f, 0.75f, 1, 0}));
  EXPECT_EQ(floats(brightness({.factor = exactly(0)}), numbered({2, 2, 3}, DType::u8)),
            Floats(12, 0));
}

TEST(Contrast, MovesAwayFromTheMeanGray) {
  Augmentation twice = contrast({.factor = exactly(2)}), none = contrast({.factor = exactly(0)});
  Array gray = image<std::uint8_t>({1, 4, 1}, {100, 110, 120, 130});
  EXPECT_EQ(floats(twice, gray), (Floats{85, 105, 125, 145}));  // 2 x - 115
  EXPECT_EQ(floats(none, gray), Floats(4, 115));
  // Grey of (100, 50, 200) is 29.9 + 29.35 + 22.8 = 82.05, of black 0: the mean is 41.025.
  EXPECT_EQ(floats(none, image<std::uint8_t>({2, 1, 3}, {100, 50, 200, 0, 0, 0})), Floats(6, 41));
  EXPECT_THAT(floats(twice, image<float>({1, 2, 1}, {0.4f, 0.5f})), near({0.35f, 0.55f}));
}

TEST(Saturation, MovesAwayFromThePixelsGray) {
  Array in = image<std::uint8_t>({1, 2, 3}, {100, 50, 200, 7, 7, 7});
  EXPECT_EQ(floats(saturation({.factor = exactly(0)}), in), (Floats{82, 82, 82, 7, 7, 7}));
  // 2 x - 82.05, not below 0
  EXPECT_EQ(floats(saturation({.factor = exactly(2)}), in), (Floats{118, 18, 255, 7, 7, 7}));
  EXPECT_THAT(floats(saturation({.factor = exactly(0.5)}), image<float>({1, 1, 3}, {1, 0, 0})),
              near({0.6495f, 0.1495f, 0.1495f}));
  EXPECT_EQ(floats(saturation({.factor = exactly(0)}), numbered({2, 2, 1})), (Floats{1, 2, 3, 4}));
}

TEST(Hue, TurnsTheColourCircle) {
  Array red = image<std::uint8_t>({1, 1, 3}, {255, 0, 0});
  EXPECT_EQ(floats(hue({.shift = exactly(1.0 / 3)}), red), (Floats{0, 255, 0}));
  EXPECT_EQ(floats(hue({.shift = exactly(-1.0 / 3)}), red), (Floats{0, 0, 255}));
  EXPECT_EQ(floats(hue({.shift = exactly(0.5)}), red), (Floats{0, 255, 255}));
  EXPECT_EQ(floats(hue({.shift = exactly(1.0 / 6)}), red), (Floats{255, 255, 0}));
  // Greys have no hue; (0.2, 0.6, 0.4) has hue 150 degrees, value 0.6, saturation 2/3: 180 degrees
  // more give 330.
  EXPECT_THAT(floats(hue({.shift = exactly(0.5)}),
                     image<float>({1, 2, 3}, {0.3f, 0.3f, 0.3f, 0.2f, 0.6f, 0.4f})),
              near({0.3f, 0.3f, 0.3f, 0.6f, 0.2f, 0.4f}));
  EXPECT_EQ(floats(hue(), numbered({2, 2, 1})), (Floats{1, 2, 3, 4}));
}

TEST(Hue, SurvivesNumbersThatAreNotFinite) {
  Array in = image<float>({1, 3, 3}, {NAN, 0, 0, INFINITY, 0, 1, -INFINITY, 5, -3});
  for (const Augmentation& a : {hue(), saturation(), contrast(), brightness(), color_jitter()})
    for (float x : floats(a, in)) EXPECT_TRUE(x >= 0 && x <= 1) << a.name() << " " << x;
}

TEST(Factors, AreUniform) {
  constexpr int trials = 3000;
  Array in = image<float>({1, 1, 1}, {0.5f});
  int low = 0;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    float factor = floats(brightness({.factor = {0.4, 1.2}}), in, seed)[0] / 0.5f;
    ASSERT_TRUE(factor >= 0.4f && factor < 1.2001f);
    low += factor < 0.6f;
  }
  expect_binomial(low, trials, 0.25);
}

TEST(ColorJitter, DrawsFactorsAndOrder) {
  constexpr int trials = 2000;
  // Brightness and contrast of grey pixels, in either order.
  Augmentation a =
      color_jitter({.brightness = 0.3, .contrast = 0.5, .saturation = 0.2, .hue = 0.3});
  Array in = image<float>({1, 2, 1}, {0.2f, 0.4f});
  int brighter = 0, stronger = 0;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    Floats out = floats(a, in, seed);
    // Contrast keeps the mean 0.3 and scales the difference 0.2; brightness scales both.
    float b = (out[0] + out[1]) / 2 / 0.3f, c = (out[1] - out[0]) / 0.2f / b;
    ASSERT_TRUE(b > 0.699f && b < 1.301f && c > 0.499f && c < 1.501f) << b << " " << c;
    brighter += b > 1.15f;
    stronger += c > 1.25f;
  }
  expect_binomial(brighter, trials, 0.25);
  expect_binomial(stronger, trials, 0.25);
}

TEST(ColorJitter, DrawsTheOrder) {
  constexpr int trials = 2000;
  // The order decides which values are clamped first and which later.
  Augmentation a = color_jitter({.brightness = 0.9, .contrast = 0.9, .saturation = 0, .hue = 0});
  Array in = image<float>({1, 2, 1}, {0.5f, 1});
  int brightness_first = 0, told = 0;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    PhiloxStream random = inner_stream(seed);
    auto b = static_cast<float>(0.1 + 1.8 * random.uniform_double());
    auto c = static_cast<float>(0.1 + 1.8 * random.uniform_double());
    auto clamp = [](float x) { return std::min(std::max(x, 0.0f), 1.0f); };
    auto bright = [&](Floats x) { return Floats{clamp(b * x[0]), clamp(b * x[1])}; };
    auto strong = [&](Floats x) {
      float shift = (1 - c) * (x[0] + x[1]) / 2;
      return Floats{clamp(c * x[0] + shift), clamp(c * x[1] + shift)};
    };
    Floats b_first = strong(bright({0.5f, 1})), c_first = bright(strong({0.5f, 1}));
    Floats out = floats(a, in, seed);
    auto is = [&](const Floats& x) {
      return std::abs(out[0] - x[0]) + std::abs(out[1] - x[1]) < 1e-5f;
    };
    ASSERT_TRUE(is(b_first) || is(c_first));
    if (is(b_first) && is(c_first)) continue;
    ++told;
    brightness_first += is(b_first);
  }
  EXPECT_GT(told, trials / 4);
  expect_binomial(brightness_first, told, 0.5);
}

TEST(ColorJitter, WithoutAmountsChangesNothing) {
  Array in = noise({4, 5, 3}, DType::u8);
  EXPECT_TRUE(identical(applied(color_jitter({0, 0, 0, 0}), in), in));
}

TEST(Grayscale, IsTheWeightedMean) {
  Array in = image<std::uint8_t>({1, 2, 3}, {100, 50, 200, 255, 255, 255});
  EXPECT_EQ(floats(grayscale(), in), (Floats{82, 82, 82, 255, 255, 255}));
  Array one = applied(grayscale({.channels = 1}), in);
  EXPECT_EQ(one.type(), (TensorType{{1, 2, 1}, DType::u8}));
  EXPECT_EQ(values_of<std::uint8_t>(one), (Bytes{82, 255}));
  EXPECT_THAT(floats(grayscale({.channels = 1}), image<float>({1, 1, 3}, {1, 0.5f, 0})),
              near({0.5925f}));
  EXPECT_EQ(floats(grayscale({.channels = 1}), numbered({1, 2, 1})), (Floats{1, 2}));
  EXPECT_EQ(applied(grayscale({.probability = 0}), in).raw(), in.raw());  // no copy
  int gray = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    gray += floats(grayscale({.probability = 0.2}), in, seed)[0] == 82;
  expect_binomial(gray, 2000, 0.2);
}

TEST(Color, RefusesOtherChannelsAndOptions) {
  Features two{{"image", numbered({2, 2, 2})}};
  for (const Augmentation& a :
       {contrast(), saturation(), hue(), color_jitter(), grayscale(), jpeg_artefacts()})
    EXPECT_EQ(call_error(a, two), a.name() + ": expected 1 channel or 3, got f32[2, 2, 2]");
  EXPECT_EQ(call_error(brightness(), two), "no error");
  EXPECT_EQ(error_of([] {
              contrast({.factor = {-1, 1}});
            }),
            "contrast: factor must be from 0 to 1e6, got [-1, 1]");
  EXPECT_EQ(error_of([] {
              hue({.shift = {-0.6, 0}});
            }),
            "hue: shift must be from -0.5 to 0.5, got [-0.6, 0]");
  EXPECT_EQ(error_of([] { color_jitter({.hue = 0.7}); }),
            "color_jitter: hue must be from 0 to 0.5, got 0.7");
  EXPECT_EQ(error_of([] { color_jitter({.contrast = -0.7}); }),
            "color_jitter: brightness, contrast and saturation must be from 0 to 1e6, got -0.7");
  EXPECT_EQ(error_of([] { grayscale({.channels = 2}); }),
            "grayscale: channels must be 1 or 3, got 2");
  EXPECT_EQ(error_of([] { grayscale({.probability = 0.5, .channels = 1}); }),
            "grayscale: with channels = 1 probability must be 1, got 0.5; images would differ in "
            "shape");
}

}  // namespace
}  // namespace belfry::data
