#include "augment/images.h"

namespace belfry::data {
namespace {

auto near(const Floats& expected) {
  return ::testing::Pointwise(::testing::FloatNear(1e-6f), expected);
}

TEST(Normalize, ScalesBytesToOneFirst) {
  Augmentation a = normalize({.mean = {0.5, 0.25, 0}, .deviation = {0.5, 0.25, 2}});
  Array in = image<std::uint8_t>({1, 2, 3}, {0, 255, 51, 255, 0, 102});
  Array out = applied(a, in);
  EXPECT_EQ(out.type(), (TensorType{{1, 2, 3}, DType::f32}));
  EXPECT_THAT(values_of<float>(out), near({-1, 3, 0.1f, 1, -1, 0.2f}));
  EXPECT_EQ(values_of<std::uint8_t>(in)[1], 255);
}

TEST(Normalize, TakesFloatsAsTheyAre) {
  Augmentation a = normalize({.mean = {1, 2}, .deviation = {2, 4}});
  EXPECT_THAT(floats(a, image<float>({2, 1, 2}, {1, 2, 5, -2})), near({0, 0, 2, -1}));
}

TEST(Normalize, OneNumberServesAllChannels) {
  Augmentation a = normalize({.mean = {1}, .deviation = {0.5, 0.25, 0.125}});
  EXPECT_THAT(floats(a, image<float>({1, 1, 3}, {2, 2, 2})), near({2, 4, 8}));
}

TEST(Normalize, EveryElementGetsTheNumbersOfItsChannel) {
  for (std::int64_t channels : {1, 2, 3, 4, 5, 16, 17})
    for (const Shape& shape : {Shape{channels}, Shape{7, 5, channels}, Shape{2, 3, 11, channels}})
      for (DType dtype : {DType::u8, DType::f32}) {
        std::vector<double> mean, deviation;
        for (std::int64_t c = 0; c < channels; ++c) {
          mean.push_back(static_cast<double>(c) / 4);
          deviation.push_back(1 + static_cast<double>(c));
        }
        Array in = noise(shape, dtype);
        Floats out = floats(normalize({.mean = mean, .deviation = deviation}), in);
        for (std::int64_t i = 0; i < in.elements(); ++i) {
          auto c = static_cast<std::size_t>(i % channels);
          double x = in.at(i) / (dtype == DType::u8 ? 255 : 1);
          ASSERT_NEAR(out[static_cast<std::size_t>(i)], (x - mean[c]) / deviation[c], 1e-6)
              << text(shape) << " at " << i;
        }
      }
}

TEST(Normalize, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(
      call_error(normalize({.mean = {0, 0}, .deviation = {1}}), {{"image", numbered({2, 2, 3})}}),
      "normalize: expected 1 or 3 numbers in mean and deviation for feature `image`, "
      "f32[2, 2, 3]; got 2");
  EXPECT_EQ(call_error(normalize({.mean = {0}, .deviation = {1}}),
                       {{"image", numbered({2, 2, 3}, DType::f64)}}),
            "normalize: feature `image` must be u8, i32 or f32, got f64[2, 2, 3]; cast() it to f32 "
            "in a map before");
  EXPECT_EQ(
      call_error(normalize({.mean = {0}, .deviation = {1}}), {{"image", Array::scalar(1.0f)}}),
      "normalize: feature `image` must have channels last, got f32[]");
  EXPECT_EQ(error_of([] { normalize({}); }),
            "normalize: mean and deviation must be given, for each channel or one for all");
  EXPECT_EQ(error_of([] {
              normalize({.mean = {0}, .deviation = {1, 0}});
            }),
            "normalize: deviation must be finite and above 0 (at least 1e-6), got 0");
}

// 0.5 x - 0.5 everywhere, exact in binary.
TEST(Normalize, OneNumberForAllTakesAnyNumberOfChannels) {
  Augmentation a = normalize({.mean = {1}, .deviation = {2}});
  for (std::int64_t length : {15, 16'001}) {
    Floats expected;
    for (std::int64_t i = 0; i < length; ++i) expected.push_back(0.5f * static_cast<float>(i));
    EXPECT_EQ(floats(a, numbered({length})), expected);
  }
}

TEST(Normalize, FewPixelsOfManyChannelsGetTheirNumbersToo) {
  std::vector<double> mean, deviation;
  Floats expected;
  for (int c = 0; c < 1001; ++c) {
    mean.push_back(c);
    deviation.push_back(c % 2 ? 2 : 4);
  }
  for (int i = 0; i < 2002; ++i)  // the element i + 1, less its channel, is 1 or 1002
    expected.push_back((i < 1001 ? 1.0f : 1002.0f) / (i % 1001 % 2 ? 2.0f : 4.0f));
  Augmentation a = normalize({.mean = mean, .deviation = deviation});
  EXPECT_EQ(floats(a, numbered({2, 1001})), expected);
}

TEST(Normalize, DividesByTheUnit) {
  Array deep = Array::of<std::int32_t>({0, 65535, 13107, 131070}, {2, 2});
  Augmentation a = normalize({.mean = {0.5, 0}, .deviation = {0.5, 2}, .unit = 65535});
  EXPECT_THAT(floats(a, deep), near({-1, 0.5f, -0.6f, 1}));
  EXPECT_THAT(floats(to_float({.unit = 65535}), deep), near({0, 1, 0.2f, 2}));
  EXPECT_EQ(floats(to_float({.unit = 4}), image<float>({3}, {-2, 1, 8})),
            (Floats{-0.5f, 0.25f, 2}));
  EXPECT_EQ(floats(to_float({.unit = 2}), image<std::uint8_t>({2}, {1, 255})),
            (Floats{0.5f, 127.5f}));
  for (const Augmentation& none : {to_float(), normalize({.mean = {0}, .deviation = {1}})})
    EXPECT_EQ(call_error(none, {{"image", deep}}),
              none.name()
                  + ": feature `image` is i32[2, 2]; give the option unit, the value that becomes "
                    "1: 65535 for images of 16 bits");
  for (double unit : {-1.0, 1e-7, 1e13})
    EXPECT_EQ(error_of([&] { to_float({.unit = unit}); }),
              concat("to_float: unit must be from 1e-6 to 1e12, or 0 for that of the element type, "
                     "got ",
                     unit));
}

TEST(Normalize, OverwritesOnlyFloatsThatNobodyElseHolds) {
  Augmentation a = normalize({.mean = {1}, .deviation = {2}});
  PhiloxStream random = stream(1);
  Features own{{"image", numbered({4})}};
  const void* memory = own.at("image").raw();
  EXPECT_EQ(a(std::move(own), random).at("image").raw(), memory);
  Array held = numbered({4});
  EXPECT_EQ(floats(a, held), (Floats{0, 0.5f, 1, 1.5f}));
  EXPECT_EQ(values_of<float>(held), (Floats{1, 2, 3, 4}));
}

TEST(ToFloat, DividesBytesBy255) {
  Array out = applied(to_float(), image<std::uint8_t>({3}, {0, 51, 255}));
  EXPECT_EQ(out.dtype(), DType::f32);
  EXPECT_THAT(values_of<float>(out), near({0, 0.2f, 1}));
  EXPECT_EQ(floats(to_float(), image<float>({2, 1, 1}, {-3, 7})), (Floats{-3, 7}));
  EXPECT_EQ(applied(to_float(), Array(Shape{0, 3}, DType::u8)).type(),
            (TensorType{{0, 3}, DType::f32}));
  EXPECT_EQ(floats(to_float(), Array::scalar(std::uint8_t{255})), Floats{1});
  EXPECT_EQ(floats(to_float(), Array::scalar(7.0f)), Floats{7});
}

}  // namespace
}  // namespace belfry::data
