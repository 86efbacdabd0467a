// Covers volume.cpp and volume_targets.cpp.
#include <map>
#include <set>

#include "augment/images.h"

namespace belfry::data {
namespace {

// 1 2 / 3 4 in front, 5 6 / 7 8 behind.
const Array cube = numbered({2, 2, 2, 1});

TEST(Flip3d, ReversesEachAxis) {
  auto flipped = [](double depth, double height, double width) {
    return floats(flip3d({.depth = depth, .height = height, .width = width}), cube);
  };
  EXPECT_EQ(flipped(0, 0, 0), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(flipped(1, 0, 0), (Floats{5, 6, 7, 8, 1, 2, 3, 4}));
  EXPECT_EQ(flipped(0, 1, 0), (Floats{3, 4, 1, 2, 7, 8, 5, 6}));
  EXPECT_EQ(flipped(0, 0, 1), (Floats{2, 1, 4, 3, 6, 5, 8, 7}));
  EXPECT_EQ(flipped(1, 1, 1), (Floats{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(Flip3d, DrawsAxesIndependently) {
  std::map<Floats, int> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++seen[floats(flip3d({.depth = 0.5, .height = 0.25, .width = 0.5}), cube, seed)];
  ASSERT_EQ(seen.size(), 8u);
  expect_binomial(seen[{1, 2, 3, 4, 5, 6, 7, 8}], 4000, 0.5 * 0.75 * 0.5);
  expect_binomial(seen[{8, 7, 6, 5, 4, 3, 2, 1}], 4000, 0.5 * 0.25 * 0.5);
}

// All results of rotate90 and how often they came.
std::map<Floats, int> turns(VolumeAxis axis, const Array& in) {
  std::map<Floats, int> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Array out = applied(rotate90({.axis = axis}), in, seed);
    EXPECT_EQ(out.type(), in.type());
    ++seen[values_of<float>(out.cast(DType::f32))];
  }
  return seen;
}

void expect_turns(VolumeAxis axis, const Array& in, const std::vector<Floats>& expected) {
  auto seen = turns(axis, in);
  EXPECT_EQ(seen.size(), expected.size());
  for (const Floats& result : expected)
    expect_binomial(seen[result], 2000, 1.0 / static_cast<double>(expected.size()));
}

TEST(Rotate90, IsNumpysRot90) {
  // numpy.rot90(x, k, (1, 2)), (0, 2) and (0, 1) for k = 0, 1, 2, 3.
  expect_turns(VolumeAxis::depth, cube,
               {{1, 2, 3, 4, 5, 6, 7, 8},
                {2, 4, 1, 3, 6, 8, 5, 7},
                {4, 3, 2, 1, 8, 7, 6, 5},
                {3, 1, 4, 2, 7, 5, 8, 6}});
  expect_turns(VolumeAxis::height, cube,
               {{1, 2, 3, 4, 5, 6, 7, 8},
                {2, 6, 4, 8, 1, 5, 3, 7},
                {6, 5, 8, 7, 2, 1, 4, 3},
                {5, 1, 7, 3, 6, 2, 8, 4}});
  expect_turns(VolumeAxis::width, cube,
               {{1, 2, 3, 4, 5, 6, 7, 8},
                {3, 4, 7, 8, 1, 2, 5, 6},
                {7, 8, 5, 6, 3, 4, 1, 2},
                {5, 6, 1, 2, 7, 8, 3, 4}});
}

TEST(Rotate90, KeepsTheShapeOfWhatIsNotSquare) {
  expect_turns(VolumeAxis::depth, numbered({1, 1, 3, 1}), {{1, 2, 3}, {3, 2, 1}});
  expect_turns(VolumeAxis::width, numbered({2, 1, 3, 1}), {{1, 2, 3, 4, 5, 6}, {4, 5, 6, 1, 2, 3}});
}

TEST(Rotate90, TurnsImagesTooAndVoxelsWhole) {
  expect_turns(VolumeAxis::depth, numbered({2, 2, 2}, DType::u8),
               {{1, 2, 3, 4, 5, 6, 7, 8},
                {3, 4, 7, 8, 1, 2, 5, 6},
                {7, 8, 5, 6, 3, 4, 1, 2},
                {5, 6, 1, 2, 7, 8, 3, 4}});
}

TEST(Volume, OfAnyTypeIsFlippedAndTurned) {
  Augmentation back = flip3d({.depth = 1, .height = 1, .width = 1});
  for (DType dtype : {DType::i32, DType::i64, DType::f16}) {
    Array in = cube.cast(dtype);
    EXPECT_EQ(floats(back, in), (Floats{8, 7, 6, 5, 4, 3, 2, 1}));
    EXPECT_EQ(turns(VolumeAxis::depth, in), turns(VolumeAxis::depth, cube));
  }
}

TEST(Rotate3d, QuarterTurnIsRotate90) {
  Array in = numbered({3, 3, 3, 2});
  for (VolumeAxis axis : {VolumeAxis::depth, VolumeAxis::height, VolumeAxis::width}) {
    Floats turned = floats(rotate3d({.degrees = {90, 90}, .axis = axis}), in);
    auto quarter_turns = turns(axis, in);
    ASSERT_TRUE(quarter_turns.contains(turned)) << to_string(axis);
    // One quarter turn, not three: the plane's first axis turns towards its second.
    std::int64_t second = axis == VolumeAxis::width ? 3 : 1;  // the voxel next on that axis
    EXPECT_EQ(turned[0], in.at(2 * 2 * second));
  }
}

TEST(Rotate3d, TurnsAllPlanesAlike) {
  Array plane = noise({9, 7, 5}, DType::f32), in({4, 9, 7, 5}, DType::f32);
  for (std::int64_t z = 0; z < 4; ++z) {
    Array slice = in.row(z);
    std::copy_n(plane.span<float>().data(), plane.elements(), slice.span<float>().data());
  }
  Array out = applied(rotate3d({.degrees = {25, 25}, .border = Border::edge}), in);
  Array expected = applied(rotate({.degrees = {25, 25}, .border = Border::edge}), plane);
  for (std::int64_t z = 0; z < 4; ++z) EXPECT_TRUE(identical(out.row(z).clone(), expected));
}

TEST(Volume, ImageAndMaskMoveAlike) {
  for (VolumeAxis axis : {VolumeAxis::depth, VolumeAxis::height, VolumeAxis::width})
    for (const Augmentation& a :
         {flip3d({.masks = {"mask"}}), rotate90({.axis = axis, .masks = {"mask"}}),
          rotate3d({.degrees = {-50, 50},
          .axis = axis,
          .interpolation = Interpolation::nearest,
          .fill = 3,
          .mask_fill = 3,
          .masks = {"mask"}})})
      for (DType dtype : {DType::u8, DType::i64, DType::f16})
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
          Array mask = noise({5, 6, 5}, DType::i32).cast(dtype);
          PhiloxStream random = stream(seed);
          Features out =
              a({{"image", mask.cast(DType::f32).reshape({5, 6, 5, 1})}, {"mask", mask}}, random);
          EXPECT_EQ(out.at("mask").type(), mask.type());
          EXPECT_EQ(values_of<float>(out.at("mask").cast(DType::f32)),
                    values_of<float>(out.at("image")))
              << text(a) << text(dtype);
        }
}

TEST(Volume, RefusesOtherShapes) {
  EXPECT_EQ(
      call_error(flip3d(), {{"image", numbered({2, 2, 2})}}),
      "flip3d: feature `image` must be a volume [d, h, w, c] with sides of 1 to 32766 and 1 to "
      "512 channels; got f32[2, 2, 2]");
  EXPECT_EQ(
      call_error(rotate90({.axis = VolumeAxis::height}), {{"image", numbered({2, 2, 2})}}),
      "rotate90: feature `image` must be a volume [d, h, w, c] with sides of 1 to 32766 and 1 "
      "to 512 channels; got f32[2, 2, 2]");
  EXPECT_EQ(
      call_error(rotate90(), {{"image", numbered({2, 2}, DType::i64)}}),
      "rotate90: feature `image` must be a volume [d, h, w, c] or an image [h, w, c] with sides "
      "of 1 to 32766 and 1 to 512 channels; got i64[2, 2]");
  EXPECT_EQ(call_error(rotate3d(), {{"image", cube.cast(DType::i32)}}),
            "rotate3d: feature `image` must be u8 or f32, got i32[2, 2, 2, 1]; cast() it to f32 in "
            "a map before");
  EXPECT_EQ(call_error(rotate3d({.mask_fill = -1, .masks = {"m"}}),
                       {{"image", cube}, {"m", cube.cast(DType::u8)}}),
            "rotate3d: mask_fill -1 does not fit the mask `m`, u8: use 0 to 255, or cast() it in a "
            "map before");
  EXPECT_EQ(call_error(elastic3d({.masks = {"m"}}),
                       {{"image", cube}, {"m", numbered({2, 2, 3}, DType::u8)}}),
            "elastic3d: mask `m` must have the sizes of the image, [2, 2, 2, 1], with or without "
            "channels; got u8[2, 2, 3]");
  EXPECT_EQ(call_error(flip3d({.image = "ct"}), {{"image", cube}}),
            "flip3d: unknown feature `ct`; this batch has image");
  EXPECT_EQ(error_of([] { flip3d({.height = -0.1}); }),
            "flip3d: probability must be from 0 to 1, got -0.1");
}

}  // namespace
}  // namespace belfry::data
