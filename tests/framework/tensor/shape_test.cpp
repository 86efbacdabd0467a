#include "belfry/framework/tensor/shape.h"

#include <gmock/gmock.h>

#include <vector>

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr std::int64_t huge = std::int64_t{1} << 62;

TEST(Shape, KnowsItsSizes) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.elements(), 30);
  EXPECT_THAT(std::vector<std::int64_t>(shape.begin(), shape.end()), ElementsAre(2, 3, 5));
  EXPECT_EQ(to_string(shape), "[2, 3, 5]");
}

TEST(Shape, AScalarHasOneElementAndAnEmptyAxisNone) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(to_string(Shape()), "[]");
  EXPECT_EQ((Shape{4, 0, 3}).elements(), 0);
}

TEST(Shape, EqualWhenRankAndSizesAre) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_NE(Shape(), (Shape{0}));
}

TEST(Shape, RefusesWhatItCannotHold) {
  EXPECT_EQ((Shape{1, 1, 1, 1, 1, 1, 1, 2}).rank(), 8);
  EXPECT_THAT(
      [] {
        Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
      },
      ThrowsMessage<Error>(StrEq("shape of rank 9: the highest rank is 8")));
  EXPECT_THAT(
      [] {
        Shape({2, -1});
      },
      ThrowsMessage<Error>(StrEq("shape: axis 1 has the negative size -1")));
  EXPECT_THAT([] { Shape({0, -1}); }, ThrowsMessage<Error>(HasSubstr("negative size -1")));
  for (Shape (*make)() : {+[] {
                            return Shape{huge, 4};
                          },
                          +[] { return Shape{huge}; },
                          +[] {
                            return Shape{huge, huge, 0};
                          },
                          +[] {
                            return Shape{std::int64_t{1} << 32, std::int64_t{1} << 32};
                          }})
    EXPECT_THAT(make, ThrowsMessage<Error>(
                          HasSubstr("more elements than a 64-bit count of bytes can hold")));
}

TEST(Shape, TheLargestCountOfElementsStillHasACountOfBytes) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  EXPECT_EQ((TensorType{Shape{most}, DType::f64}).bytes(), most * 8);
  EXPECT_THROW(Shape{most + 1}, Error);
}

TEST(Shape, WithReplacesOneSize) {
  EXPECT_EQ((Shape{2, 3}).with(0, 7), (Shape{7, 3}));
  EXPECT_EQ((Shape{2, 0}).with(1, 4).elements(), 8);
  EXPECT_THAT(
      [] {
        Shape({2, 3}).with(2, 1);
      },
      ThrowsMessage<Error>(StrEq("shape: axis 2 is outside [2, 3]")));
  EXPECT_THROW(Shape({2, 3}).with(-1, 1), Error);
}

TEST(NormalizeAxis, CountsFromTheEndToo) {
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0);
  EXPECT_EQ(normalize_axis(2, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(-3, 3, "sum"), 0);
  for (int axis : {3, -4})
    EXPECT_THAT(
        [&] { normalize_axis(axis, 3, "sum"); },
        ThrowsMessage<Error>(StrEq(concat("sum: axis ", axis, " is outside a tensor of rank 3"))));
  EXPECT_THROW(normalize_axis(0, 0, "sum"), Error);
}

TEST(Broadcast, StretchesSizesOfOneFromTheRight) {
  EXPECT_EQ(broadcast({4, 1, 3}, {5, 1}, "add"), (Shape{4, 5, 3}));
  EXPECT_EQ(broadcast({3}, {2, 3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {2, 3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {}, "add"), Shape());
  EXPECT_EQ(broadcast({0, 3}, {1, 1}, "add"), (Shape{0, 3}));
  EXPECT_EQ(broadcast({1}, {0}, "add"), (Shape{0}));
}

TEST(Broadcast, SizesThatDifferAreAnError) {
  EXPECT_THAT(
      [] {
        broadcast({2, 3}, {4, 3}, "add");
      },
      ThrowsMessage<Error>(StrEq("add: shapes [2, 3] and [4, 3] cannot be broadcast "
                                 "together: sizes 2 and 4 differ")));
  EXPECT_THROW(broadcast({2}, {0}, "add"), Error);
}

TEST(TensorType, KnowsItsBytes) {
  TensorType type{Shape{2, 3}, DType::bf16};
  EXPECT_EQ(type.bytes(), 12);
  EXPECT_EQ(to_string(type), "bf16[2, 3]");
  EXPECT_NE(type, (TensorType{Shape{2, 3}, DType::f16}));
}

}  // namespace
}  // namespace belfry
