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
            "normalize: feature `image` must be u8 or f32 with channels last, got f64[2, 2, 3]");
  EXPECT_EQ(call_error(to_float(), {{"image", Array::scalar(1.0f)}}),
            "to_float: feature `image` must be u8 or f32 with channels last, got f32[]");
  EXPECT_EQ(error_of([] { normalize({}); }),
            "normalize: mean and deviation must be given, for each channel or one for all");
  EXPECT_EQ(error_of([] {
              normalize({.mean = {0}, .deviation = {1, 0}});
            }),
            "normalize: deviation must be above 0 (at least 1e-6), got 0");
}

TEST(ToFloat, DividesBytesBy255) {
  Array out = applied(to_float(), image<std::uint8_t>({3}, {0, 51, 255}));
  EXPECT_EQ(out.dtype(), DType::f32);
  EXPECT_THAT(values_of<float>(out), near({0, 0.2f, 1}));
  EXPECT_EQ(floats(to_float(), image<float>({2, 1, 1}, {-3, 7})), (Floats{-3, 7}));
  EXPECT_EQ(applied(to_float(), Array(Shape{0, 3}, DType::u8)).type(),
            (TensorType{{0, 3}, DType::f32}));
}

}  // namespace
}  // namespace belfry::data
