#include <map>

#include "augment/images.h"

namespace belfry::data {
namespace {

TEST(Crop, CutsEveryPlaceEquallyOften) {
  Array in = numbered({3, 4, 1}, DType::u8);
  std::map<Floats, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed)
    ++seen[floats(crop({.height = 2, .width = 2}), in, seed)];
  ASSERT_EQ(seen.size(), 6u);
  for (float y : {0.f, 1.f})
    for (float x : {0.f, 1.f, 2.f}) {
      float first = 4 * y + x + 1;
      expect_binomial(seen[{first, first + 1, first + 4, first + 5}], 6000, 1.0 / 6);
    }
  EXPECT_EQ(floats(crop({.height = 3, .width = 4}), in), values_of<float>(numbered({3, 4, 1})));
}

TEST(CenterCrop, TakesTheMiddle) {
  Array in = numbered({4, 4, 1});
  EXPECT_EQ(floats(center_crop({.height = 2, .width = 2}), in), (Floats{6, 7, 10, 11}));
  // Three columns are left over: one goes on the left, two on the right.
  EXPECT_EQ(floats(center_crop({.height = 1, .width = 1}), in), Floats{6});
  EXPECT_EQ(floats(center_crop({.height = 1, .width = 2}), numbered({1, 2, 2})),
            (Floats{1, 2, 3, 4}));
}

TEST(Crop, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(call_error(center_crop({.height = 2, .width = 5}), {{"image", numbered({4, 4, 1})}}),
            "center_crop: 2 x 5 pixels do not fit into feature `image`, 4 x 4; resize it before, "
            "or use pad_and_crop");
  EXPECT_EQ(error_of([] { crop({}); }), "crop: height must be from 1 to 32766, got 0");
  EXPECT_EQ(error_of([] { crop({.height = 1, .width = -1}); }),
            "crop: width must be from 1 to 32766, got -1");
}

TEST(Crop, CutsMasksAtTheSamePlace) {
  Augmentation joint = crop({.height = 2, .width = 3, .masks = {"mask"}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    PhiloxStream random = stream(seed);
    Features out =
        joint({{"image", numbered({5, 6, 1})}, {"mask", numbered({5, 6}, DType::i64)}}, random);
    EXPECT_EQ(out.at("mask").type(), (TensorType{{2, 3}, DType::i64}));
    EXPECT_EQ(values_of<float>(out.at("mask").cast(DType::f32)), values_of<float>(out.at("image")));
  }
}

// All results of padding [1 2 / 3 4] by one pixel and cutting 2 x 2 pixels.
std::map<Floats, int> padded(PadAndCropOptions options, DType dtype) {
  options.padding = 1;
  std::map<Floats, int> seen;
  for (std::uint64_t seed = 0; seed < 4500; ++seed)
    ++seen[floats(pad_and_crop(options), numbered({2, 2, 1}, dtype), seed)];
  return seen;
}

TEST(PadAndCrop, FillsOrReflects) {
  for (DType dtype : {DType::u8, DType::f32}) {
    auto seen = padded({.fill = 9}, dtype);
    ASSERT_EQ(seen.size(), 9u);
    for (const Floats& part : std::vector<Floats>{{9, 9, 9, 1},
                                                  {9, 9, 1, 2},
                                                  {9, 9, 2, 9},
                                                  {9, 1, 9, 3},
                                                  {1, 2, 3, 4},
                                                  {2, 9, 4, 9},
                                                  {9, 3, 9, 9},
                                                  {3, 4, 9, 9},
                                                  {4, 9, 9, 9}})
      expect_binomial(seen[part], 4500, 1.0 / 9);
  }
  // 4 3 4 3 / 2 1 2 1 / 4 3 4 3 / 2 1 2 1
  auto reflected = padded({.border = Border::reflect}, DType::u8);
  EXPECT_EQ(reflected.size(), 4u);
  expect_binomial(reflected[{4, 3, 2, 1}], 4500, 4.0 / 9);
  expect_binomial(reflected[{1, 2, 3, 4}], 4500, 1.0 / 9);
  // 1 1 2 2 / 1 1 2 2 / 3 3 4 4 / 3 3 4 4
  for (Border border : {Border::edge, Border::symmetric}) {
    auto repeated = padded({.border = border}, DType::f32);
    EXPECT_EQ(repeated.size(), 9u);
    EXPECT_TRUE(repeated.contains({1, 1, 1, 1}) && repeated.contains({2, 2, 4, 4}));
  }
}

TEST(PadAndCrop, FillsMasksOfAnyTypeWithTheirOwnValue) {
  for (DType dtype :
       {DType::u8, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    bool is_signed = dtype != DType::u8;
    double fill = is_signed ? -3 : 250;
    Augmentation far = pad_and_crop({.padding = 1024, .mask_fill = fill, .masks = {"mask"}});
    PhiloxStream random = stream(1);
    Features out = far({{"image", numbered({2, 2, 1})}, {"mask", numbered({2, 2}, dtype)}}, random);
    ASSERT_EQ(out.at("image").at(0), 0) << "the seed is one whose part is outside the image";
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out.at("mask").at(i), fill) << text(dtype);
  }
}

TEST(PadAndCrop, RefusesAFillThatDoesNotFit) {
  auto error = [](DType dtype, double fill, Border border = Border::constant) {
    Augmentation a = pad_and_crop({.border = border, .mask_fill = fill, .masks = {"m"}});
    return call_error(a, {{"image", numbered({2, 2, 1})}, {"m", numbered({2, 2}, dtype)}});
  };
  EXPECT_EQ(error(DType::u8, -1),
            "pad_and_crop: mask_fill -1 does not fit the mask `m`, u8: use 0 to 255, or cast() it "
            "in a map before");
  EXPECT_EQ(
      error(DType::boolean, 2),
      "pad_and_crop: mask_fill 2 does not fit the mask `m`, bool: use 0 or 1, or cast() it in "
      "a map before");
  EXPECT_EQ(error(DType::i32, 2.5e9),
            "pad_and_crop: mask_fill 2.5e+09 does not fit the mask `m`, i32: use a whole number "
            "of 32 bits, or cast() it in a map before");
  EXPECT_EQ(error(DType::f16, 2049),
            "pad_and_crop: mask_fill 2049 does not fit the mask `m`, f16: use a number that f16 "
            "holds, or cast() it in a map before");
  for (DType dtype : {DType::u8, DType::boolean, DType::i32, DType::i64})
    EXPECT_THAT(error(dtype, 0.5), ::testing::HasSubstr("mask_fill 0.5 does not fit the mask `m`"));
  for (double fill : {1e300, 16'777'217.0})
    EXPECT_THAT(error(DType::f32, fill), ::testing::HasSubstr(" does not fit the mask `m`, f32"));
  EXPECT_EQ(error(DType::f32, 0.1), "no error");
  EXPECT_EQ(error(DType::f64, 0.1), "no error");
  EXPECT_EQ(error(DType::i64, 1e15), "no error");
  EXPECT_EQ(error(DType::u8, -1, Border::edge), "no error");  // not used
}

TEST(PadAndCrop, RoundsTheFillOfImages) {
  for (auto [fill, held] : {std::pair{127.5, 128.0}, {126.5, 127.0}, {255.4, 255.0}}) {
    Augmentation far = pad_and_crop({.padding = 1024, .fill = fill});
    for (DType dtype : {DType::u8, DType::i32})  // the seed is one whose part is outside the image
      EXPECT_EQ(applied(far, numbered({2, 2, 1}, dtype)).at(0), held);
    EXPECT_EQ(applied(far, numbered({2, 2, 1})).at(0), static_cast<float>(fill));
  }
  EXPECT_EQ(call_error(pad_and_crop({.fill = 255.5}), {{"image", numbered({2, 2, 1}, DType::u8)}}),
            "pad_and_crop: fill 255.5 does not fit the image `image`, u8: use 0 to 255, or cast() "
            "it in a map before");
}

TEST(Crop, TakesImagesOfAnyType) {
  Array in = numbered({4, 4, 1}, DType::i64);
  Array out = applied(center_crop({.height = 2, .width = 2}), in);
  EXPECT_EQ(values_of<std::int64_t>(out), (Values{6, 7, 10, 11}));
  EXPECT_TRUE(identical(applied(crop({.height = 4, .width = 4}), in), in));
}

TEST(PadAndCrop, RefusesPaddingOutOfRange) {
  EXPECT_EQ(error_of([] { pad_and_crop({.padding = -1}); }),
            "pad_and_crop: padding must be from 0 to 1024, got -1");
  EXPECT_EQ(error_of([] { pad_and_crop({.padding = 1025}); }),
            "pad_and_crop: padding must be from 0 to 1024, got 1025");
}

TEST(RandomResizedCrop, ShowsPartsOfTheImage) {
  // The image is its own coordinates, so that the first and last pixel tell the part.
  Augmentation augmentation = random_resized_crop({.height = 8, .width = 8, .scale = {0.25, 0.25}});
  std::int64_t wide = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Array out = applied(augmentation, coordinates(64, 64), seed);
    ASSERT_EQ(out.shape(), (Shape{8, 8, 2}));
    // Means of equal parts: the centres of first and last are 7/8 of the part apart.
    double width = (out.at(2 * 7) - out.at(0)) * 8 / 7;
    double height = (out.at(2 * 8 * 7 + 1) - out.at(1)) * 8 / 7;
    EXPECT_NEAR(width * height / (64 * 64), 0.25, 0.016);  // sides are rounded to whole pixels
    EXPECT_GT(width / height, 0.72);
    EXPECT_LT(width / height, 1.39);
    EXPECT_GE(out.at(0), 0);
    EXPECT_LE(out.at(2 * 7), 63);
    wide += width > height;
  }
  EXPECT_GT(wide, 200);
  EXPECT_LT(wide, 300);
}

TEST(RandomResizedCrop, ResizesMasksByTheNearestPixel) {
  Augmentation joint =
      random_resized_crop({.height = 5, .width = 7, .scale = {0.1, 1}, .masks = {"mask"}});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    PhiloxStream random = stream(seed);
    Features out =
        joint({{"image", coordinates(30, 40)}, {"mask", numbered({30, 40}, DType::i32)}}, random);
    for (std::int64_t i = 0; i < 35; ++i) {
      auto index = static_cast<std::int64_t>(out.at("mask").at(i)) - 1;
      // The part may be several times larger than the result: then the image holds means.
      EXPECT_NEAR(static_cast<double>(index % 40), out.at("image").at(2 * i), 0.51);
      EXPECT_NEAR(static_cast<double>(index / 40), out.at("image").at(2 * i + 1), 0.51);
    }
  }
}

}  // namespace
}  // namespace belfry::data
