// Covers flip.cpp and targets.cpp.
#include "augment/images.h"

namespace belfry::data {
namespace {

const Augmentation left_right = flip_horizontal({.probability = 1});
const Augmentation upside_down = flip_vertical({.probability = 1});

TEST(Flip, ReversesRowsOrColumns) {
  for (DType dtype : {DType::u8, DType::f32}) {
    Array in = numbered({3, 3, 1}, dtype);
    EXPECT_EQ(floats(left_right, in), (Floats{3, 2, 1, 6, 5, 4, 9, 8, 7}));
    EXPECT_EQ(floats(upside_down, in), (Floats{7, 8, 9, 4, 5, 6, 1, 2, 3}));
    EXPECT_EQ(floats(flip_vertical({.probability = 0}), in), values_of<float>(numbered({3, 3, 1})));
  }
}

TEST(Flip, KeepsChannelsTogether) {
  EXPECT_EQ(floats(left_right, numbered({1, 2, 3})), (Floats{4, 5, 6, 1, 2, 3}));
  // More channels than OpenCV's functions take at once.
  EXPECT_EQ(floats(left_right, numbered({1, 2, 6}, DType::u8)),
            (Floats{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
}

TEST(Flip, HappensWithItsProbability) {
  Array in = numbered({1, 2, 1});
  for (double p : {0.2, 0.5}) {
    int flipped = 0;
    for (std::uint64_t seed = 0; seed < 5000; ++seed)
      flipped += floats(flip_horizontal({.probability = p}), in, seed)[0] == 2;
    expect_binomial(flipped, 5000, p);
  }
}

TEST(Flip, TakesMasksOfAnyTypeAlong) {
  for (DType dtype : {DType::u8, DType::boolean, DType::i32, DType::i64, DType::f16, DType::bf16,
                      DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 1}, Shape{2, 3, 5}}) {
      Array mask = noise(shape, DType::i32).cast(dtype);
      PhiloxStream random = stream(1);
      Features out = flip_horizontal({.probability = 1, .image = "x", .masks = {"m"}})(
          {{"x", numbered({2, 3, 1})}, {"m", mask}}, random);
      EXPECT_EQ(values_of<float>(out.at("x")), (Floats{3, 2, 1, 6, 5, 4}));
      ASSERT_EQ(out.at("m").type(), mask.type());
      std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
      for (std::int64_t y = 0; y < 2; ++y)
        for (std::int64_t i = 0; i < 3 * channels; ++i) {
          std::int64_t x = i / channels, c = i % channels;
          EXPECT_EQ(out.at("m").at(y * 3 * channels + i), mask.at((y * 3 + 2 - x) * channels + c));
        }
    }
  }
}

TEST(Flip, TakesImagesOfAnyType) {
  for (DType dtype : {DType::i32, DType::i64, DType::f16, DType::f64}) {
    Array out = applied(left_right, numbered({2, 2, 1}, dtype));
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_EQ(values_of<float>(out.cast(DType::f32)), (Floats{2, 1, 4, 3}));
  }
}

TEST(Targets, RefusesOtherShapesAndTypes) {
  EXPECT_EQ(call_error(left_right, {{"photo", numbered({3, 3, 1})}}),
            "flip_horizontal: unknown feature `image`; this batch has photo");
  EXPECT_EQ(call_error(left_right, {{"image", numbered({3, 3})}}),
            "flip_horizontal: feature `image` must be an image [h, w, c], got f32[3, 3]");
  EXPECT_EQ(
      call_error(rotate(), {{"image", numbered({3, 3, 1}, DType::i32)}}),
      "rotate: feature `image` must be u8 or f32, got i32[3, 3, 1]; cast() it to f32 in a map "
      "before");
  EXPECT_EQ(call_error(left_right, {{"image", numbered({3, 0, 1})}}),
            "flip_horizontal: feature `image` must have sides of 1 to 32766 and 1 to 512 channels, "
            "got f32[3, 0, 1]");
  EXPECT_EQ(call_error(left_right, {{"image", numbered({40000, 1, 1})}}),
            "flip_horizontal: feature `image` must have sides of 1 to 32766 and 1 to 512 channels, "
            "got f32[40000, 1, 1]");
  Augmentation joint = flip_horizontal({.masks = {"a", "b"}});
  EXPECT_EQ(call_error(joint, {{"image", numbered({3, 3, 1})}, {"a", numbered({3, 3})}}),
            "flip_horizontal: unknown feature `b`; this batch has image, a");
  for (const Shape& shape : {Shape{3}, Shape{3, 2}, Shape{2, 3, 1}, Shape{3, 3, 1, 1}})
    EXPECT_EQ(call_error(joint, {{"image", numbered({3, 3, 1})},
                                 {"a", numbered({3, 3})},
                                 {"b", numbered(shape)}}),
              concat("flip_horizontal: mask `b` must be [h, w] or [h, w, c] with the image's 3 x 3 "
                     "pixels, got f32",
                     shape));
  EXPECT_EQ(error_of([] { flip_vertical({.masks = {"image"}}); }),
            "flip_vertical: the feature `image` is named twice in the options");
  EXPECT_EQ(error_of([] {
              flip_vertical({.masks = {"a", "b", "a"}});
            }),
            "flip_vertical: the feature `a` is named twice in the options");
}

}  // namespace
}  // namespace belfry::data
