#include <array>

#include "augment/images.h"

namespace belfry::data {
namespace {

constexpr std::array<float, 3> mean{0.5f, 0.25f, 0.125f}, deviation{0.5f, 2.0f, 0.25f};

PixelView view_of(const Array& image) {
  return {image.span<std::uint8_t>().data(), image.shape()[0], image.shape()[1],
          3 * image.shape()[1]};
}

Floats resized(const Array& image, const Rectangle& crop, bool flip, std::int64_t size) {
  Floats out(static_cast<std::size_t>(3 * size * size + 1), -77);
  resize_crop_into(view_of(image), crop, flip, mean, deviation, out.data(), size);
  EXPECT_EQ(out.back(), -77) << "written beyond the end";
  out.pop_back();
  return out;
}

TEST(ResizeCropInto, NormalisesPixelByPixel) {
  Array in = image<std::uint8_t>({1, 2, 3}, {255, 0, 51, 0, 255, 102});
  // (1 - 0.5) / 0.5, (0 - 0.25) / 2, (0.2 - 0.125) / 0.25
  EXPECT_THAT(resized(in, {0, 0, 1, 1}, false, 1),
              ::testing::Pointwise(::testing::FloatNear(1e-6f), Floats{1, -0.125f, 0.3f}));
  // (0 - 0.5) / 0.5, (1 - 0.25) / 2, (0.4 - 0.125) / 0.25
  EXPECT_THAT(resized(in, {0, 1, 1, 1}, true, 1),
              ::testing::Pointwise(::testing::FloatNear(1e-6f), Floats{-1, 0.375f, 1.1f}));
}

// The red channel, back in 0..255.
Floats red(const Floats& out) {
  Floats back;
  for (std::size_t i = 0; i < out.size(); i += 3) back.push_back((out[i] * 0.5f + 0.5f) * 255);
  return back;
}

Array gray3(std::int64_t height, std::int64_t width, const Bytes& values) {
  Bytes out;
  for (std::uint8_t v : values) out.insert(out.end(), {v, v, v});
  return image(Shape{height, width, 3}, out);
}

TEST(ResizeCropInto, GrowsLinearlyShrinksByArea) {
  auto near = [](Floats expected) {
    return ::testing::Pointwise(::testing::FloatNear(1e-4f), expected);
  };
  // Two columns become four, four rows two: 0 40 / 80 120 / 20 20 / 20 20.
  Array in = gray3(4, 2, {0, 40, 80, 120, 20, 20, 20, 20});
  EXPECT_THAT(red(resized(in, {0, 0, 2, 2}, false, 2)), near({0, 40, 80, 120}));
  EXPECT_THAT(red(resized(in, {0, 0, 2, 2}, true, 2)), near({40, 0, 120, 80}));
  EXPECT_THAT(red(resized(in, {1, 0, 3, 1}, false, 2)), near({60, 60, 20, 20}));
  EXPECT_THAT(red(resized(gray3(1, 2, {0, 40}), {0, 0, 1, 2}, false, 4)),
              near({0, 10, 30, 40, 0, 10, 30, 40, 0, 10, 30, 40, 0, 10, 30, 40}));
  EXPECT_THAT(
      red(resized(gray3(3, 3, {0, 30, 60, 90, 120, 150, 180, 210, 240}), {0, 0, 3, 3}, false, 1)),
      near({120}));
}

TEST(ResizeCropInto, AgreesWithTheAugmentations) {
  Augmentation slow =
      compose({random_resized_crop({.height = 9, .width = 9}), flip_horizontal(),
               normalize({.mean = {0.5, 0.25, 0.125}, .deviation = {0.5, 2, 0.25}})});
  PhiloxStream sizes = stream(1);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto h = static_cast<std::int64_t>(1 + sizes.below(seed % 3 == 0 ? 5 : 60));
    auto w = static_cast<std::int64_t>(1 + sizes.below(seed % 3 == 1 ? 5 : 60));
    Array in = noise({h, w, 3}, DType::u8, seed);
    // compose draws from the stream that inner_stream names.
    PhiloxStream random = inner_stream(seed);
    ResizedCropParameters p = draw_resized_crop(h, w, {}, random);
    // In f32 from the start: OpenCV would round to u8 after resizing.
    Array reference = applied(slow, applied(to_float(), in), seed);
    EXPECT_THAT(resized(in, p.crop, p.flip, 9),
                ::testing::Pointwise(::testing::FloatNear(2e-5f), values_of<float>(reference)))
        << h << " x " << w;
  }
}

// The value that resize_crop_into() describes, in double precision: the red of the new pixel (y, x)
// of the image [h, w, 3], whose pixels are `shrink` long.
class Reference {
 public:
  Reference(const Array& image, std::int64_t shrink, const Rectangle& crop, std::int64_t size)
      : image_(image),
        rows_(weights(crop.top, crop.height, image.shape()[0], shrink, size)),
        columns_(weights(crop.left, crop.width, image.shape()[1], shrink, size)) {}

  double operator()(std::size_t y, std::size_t x) const {
    double sum = 0;
    std::int64_t at = 0;
    for (double row : rows_[y])
      for (double column : columns_[x]) sum += row * column * image_.at(3 * at++);
    return sum;
  }

 private:
  using Weights = std::vector<std::vector<double>>;  // of each new pixel, of all old ones

  static Weights weights(std::int64_t first, std::int64_t length, std::int64_t old,
                         std::int64_t shrink, std::int64_t size) {
    auto pixels = [&](double units) { return units / static_cast<double>(shrink); };
    double begin = pixels(static_cast<double>(first)), all = pixels(static_cast<double>(length));
    double step = all / static_cast<double>(size), end = begin + all;
    Weights out;
    for (std::int64_t i = 0; i < size; ++i) {
      double low = begin + static_cast<double>(i) * step, high = low + step;
      std::vector<double> w(static_cast<std::size_t>(old));
      // Linear between the pixels that the crop touches.
      double place = std::clamp((low + high) / 2 - 0.5, std::floor(begin), std::ceil(end) - 1);
      for (std::size_t p = 0; p < w.size(); ++p) {
        auto at = static_cast<double>(p);
        w[p] = step > 1 ? std::max(0.0, std::min(high, at + 1) - std::max(low, at)) / step
                        : std::max(0.0, 1 - std::abs(at - place));
      }
      out.push_back(w);
    }
    return out;
  }

  const Array& image_;
  Weights rows_, columns_;
};

TEST(ResizeCropInto, CropsMayBeginAndEndWithinPixels) {
  PhiloxStream random = stream(7);
  auto draw = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  for (int i = 0; i < 300; ++i) {
    std::int64_t shrink = std::int64_t{1} << draw(4), h = 1 + draw(25), w = 1 + draw(25);
    Rectangle crop{draw(h * shrink), draw(w * shrink), 0, 0};
    crop.height = 1 + draw(h * shrink - crop.top);
    crop.width = 1 + draw(w * shrink - crop.left);
    Array in = noise({h, w, 3}, DType::u8, static_cast<std::uint64_t>(i));
    PixelView view = view_of(in);
    view.shrink = shrink;
    Floats out(3 * 81);
    resize_crop_into(view, crop, false, mean, deviation, out.data(), 9);
    Floats got = red(out);
    Reference expected(in, shrink, crop, 9);
    for (std::size_t y = 0; y < 9; ++y)
      for (std::size_t x = 0; x < 9; ++x)
        ASSERT_NEAR(got[9 * y + x], expected(y, x), 1e-3)
            << shrink << ", " << crop.top << " " << crop.left << " " << crop.height << " "
            << crop.width;
  }
}

TEST(ResizeCropInto, ReadsRowsThatAreApart) {
  Array in = noise({6, 10, 3}, DType::u8);
  Array part({6, 4, 3}, DType::u8);
  for (std::int64_t y = 0; y < 6; ++y)
    for (std::int64_t i = 0; i < 12; ++i)
      part.span<std::uint8_t>()[static_cast<std::size_t>(12 * y + i)] =
          in.span<std::uint8_t>()[static_cast<std::size_t>(30 * y + 15 + i)];
  Floats out(75);
  PixelView view{in.span<std::uint8_t>().data() + 15, 6, 4, 30};
  resize_crop_into(view, {1, 1, 5, 3}, false, mean, deviation, out.data(), 5);
  EXPECT_EQ(out, resized(part, {1, 1, 5, 3}, false, 5));
}

TEST(ResizeCropInto, RefusesPartsOutside) {
  Array in = noise({4, 5, 3}, DType::u8);
  for (const Rectangle& r :
       {Rectangle{-1, 0, 2, 2}, Rectangle{0, 4, 2, 2}, Rectangle{3, 0, 2, 2}, Rectangle{0, 0, 5, 5},
        Rectangle{0, 0, 0, 2}, Rectangle{0, 0, 2, -1}, Rectangle{0, INT64_MAX, 1, 1}})
    EXPECT_EQ(error_of([&] { resized(in, r, false, 2); }),
              concat("resize_crop_into: the crop of ", r.height, " x ", r.width, " pixels at (",
                     r.top, ", ", r.left, ") is not within the image, 4 x 5"));
  float out[3];
  EXPECT_EQ(error_of([&] {
              resize_crop_into(view_of(in), {0, 0, 1, 1}, false, mean, {1, 0, 1}, out, 1);
            }),
            "resize_crop_into: deviation must be finite and above 0 (at least 1e-6), got 0");
  EXPECT_EQ(error_of([&] {
              resize_crop_into(view_of(in), {0, 0, 1, 1}, false, mean, deviation, out, 0);
            }),
            "resize_crop_into: size must be from 1 to 32766, got 0");
  PixelView view = view_of(in);
  view.shrink = 2;  // 8 x 10 pixels at full size
  EXPECT_EQ(error_of([&] {
              resize_crop_into(view, {7, 9, 2, 1}, false, mean, deviation, out, 1);
            }),
            "resize_crop_into: the crop of 2 x 1 pixels at (7, 9) is not within the image, 8 x 10");
  view.shrink = 0;
  EXPECT_EQ(error_of([&] {
              resize_crop_into(view, {0, 0, 1, 1}, false, mean, deviation, out, 1);
            }),
            "resize_crop_into: shrink must be at least 1, got 0");
  EXPECT_EQ(
      error_of([&] {
        resize_crop_into({}, {0, 0, 1, 1}, false, mean, deviation, out, 1);
      }),
      "resize_crop_into: the image has no pixels, or rows of 0 pixels that are 0 bytes apart");
}

TEST(DrawResizedCrop, FollowsItsDistribution) {
  PhiloxStream random = stream(2);
  int small = 0, wide = 0, flips = 0, left = 0;
  constexpr int trials = 4000;
  for (int i = 0; i < trials; ++i) {
    ResizedCropParameters p = draw_resized_crop(
        2000, 2000, {.scale = {0.1, 0.3}, .ratio = {0.5, 2}, .flip_probability = 0.3}, random);
    const Rectangle& r = p.crop;
    ASSERT_TRUE(r.top >= 0 && r.left >= 0 && r.top + r.height <= 2000 && r.left + r.width <= 2000);
    double area = static_cast<double>(r.height * r.width) / 4e6;
    double ratio = static_cast<double>(r.width) / static_cast<double>(r.height);
    ASSERT_TRUE(area > 0.0995 && area < 0.3005 && ratio > 0.497 && ratio < 2.01);
    small += area < 0.15;                 // a quarter of the range
    wide += ratio > std::sqrt(2.0);       // a quarter of the logarithms
    left += 2 * r.left < 2000 - r.width;  // half of the places
    flips += p.flip;
  }
  expect_binomial(small, trials, 0.25);
  expect_binomial(wide, trials, 0.25);
  expect_binomial(left, trials, 0.5);
  expect_binomial(flips, trials, 0.3);
}

TEST(DrawResizedCrop, FallsBackToTheMiddle) {
  PhiloxStream random = stream(3);
  ResizedCropOptions whole{.scale = {1, 1}, .ratio = {0.75, 4.0 / 3}};
  // Too wide for any ratio allowed: 100 x 133 in the middle of 100 x 300.
  EXPECT_EQ(draw_resized_crop(100, 300, whole, random).crop, (Rectangle{0, 83, 100, 133}));
  // Too high: 60 / 0.75 = 80 rows.
  EXPECT_EQ(draw_resized_crop(300, 60, whole, random).crop, (Rectangle{110, 0, 80, 60}));
  // The area does not fit with ratio 1/2 or 2, the shape of the image is allowed.
  EXPECT_EQ(draw_resized_crop(50, 50, {.scale = {1, 1}, .ratio = {0.5, 0.5}}, random).crop,
            (Rectangle{0, 12, 50, 25}));
  EXPECT_EQ(draw_resized_crop(1, 1, {}, random).crop, (Rectangle{0, 0, 1, 1}));
  EXPECT_EQ(draw_resized_crop(1, 500, whole, random).crop, (Rectangle{0, 249, 1, 1}));
}

TEST(DrawResizedCrop, RefusesOptionsOutOfRange) {
  PhiloxStream random = stream(4);
  auto error = [&](std::int64_t h, ResizedCropOptions o) {
    return error_of([&] { draw_resized_crop(h, 4, o, random); });
  };
  EXPECT_EQ(error(0, {}), "draw_resized_crop: an image has at least one pixel, got 0 x 4");
  EXPECT_EQ(error(4, {.scale = {0, 1}}), "scale must be above 0 and at most 1, got [0, 1]");
  EXPECT_EQ(error(4, {.ratio = {2, 1}}),
            "ratio must be [low, high] with low at most high, got [2, 1]");
  EXPECT_EQ(error(4, {.scale = {0.9, 0.1}}),
            "scale must be [low, high] with low at most high, got [0.9, 0.1]");
  EXPECT_EQ(error(4, {.ratio = {0.0005, 1}}), "ratio must be from 0.001 to 1000, got [5e-04, 1]");
  EXPECT_EQ(error(4, {.flip_probability = 2}), "probability must be from 0 to 1, got 2");
}

}  // namespace
}  // namespace belfry::data
