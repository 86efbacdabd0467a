#include "belfry/framework/tensor/array.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> values(const Array& array) {
  auto span = array.span<T>();
  return {span.begin(), span.end()};
}

// Elements that nobody keeps cannot be looked at.
template <class A>
concept HasSpan = requires(A&& array) {
  std::forward<A>(array).template span<float>();
};
static_assert(HasSpan<Array&> && HasSpan<const Array&>);
static_assert(!HasSpan<Array> && !HasSpan<const Array>);

TEST(Array, HoldsTheValuesGiven) {
  Array array = Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3});
  EXPECT_TRUE(array.defined());
  EXPECT_EQ(array.type(), (TensorType{Shape{2, 3}, DType::f32}));
  EXPECT_EQ(array.elements(), 6);
  EXPECT_EQ(array.bytes(), 24);
  EXPECT_EQ(array.raw_bytes().size(), 24u);
  EXPECT_THAT(values<float>(array), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(array.at(5), 6);
  EXPECT_EQ(Array::of<std::int64_t>({7, 8}).shape(), (Shape{2}));
  EXPECT_EQ(Array::scalar(std::uint8_t{9}).item(), 9);
  EXPECT_EQ(Array::scalar(true).dtype(), DType::boolean);
}

TEST(Array, MemoryIsAlignedForAllTypesEvenWhenEmpty) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{17, 5}}) {
    Array array(shape, DType::u8);
    EXPECT_TRUE(array.defined());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.raw()) % 64, 0u) << shape.elements();
  }
  EXPECT_THAT(values<double>(Array::zeros({3}, DType::f64)), ElementsAre(0, 0, 0));
}

TEST(Array, CopiesShareAndClonesDoNot) {
  Array array = Array::of({1, 2});
  Array copy = array, clone = array.clone();
  array.span<int>()[0] = 9;
  EXPECT_EQ(copy.at(0), 9);
  EXPECT_EQ(clone.at(0), 1);
  EXPECT_FALSE(Array().clone().defined());
}

TEST(Array, AdoptedMemoryLivesWithTheArray) {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{1, 2, 3});
  std::weak_ptr<std::vector<int>> watch = owner;
  {
    void* data = owner->data();
    Array array({Shape{3}, DType::i32}, data, std::move(owner));
    EXPECT_THAT(values<int>(array), ElementsAre(1, 2, 3));
    Array last = array.row(2);
    array = {};
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(last.item(), 3);
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_THAT(
      [] {
        Array({Shape{1}, DType::u8}, nullptr, nullptr);
      },
      ThrowsMessage<Error>(HasSubstr("adopted memory is null")));
}

TEST(Array, ExclusiveWhileNobodyElseCouldNoticeAWrite) {
  Array array = Array::of({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(array.exclusive());
  for (const Array& other : {array, array.row(1), array.reshape({4})}) {
    EXPECT_TRUE(other.defined());
    EXPECT_FALSE(array.exclusive());
  }
  EXPECT_TRUE(array.exclusive());
  EXPECT_TRUE(array.clone().exclusive());
  int adopted = 5;
  EXPECT_FALSE(Array({Shape{}, DType::i32}, &adopted, std::make_shared<int>()).exclusive());
  EXPECT_FALSE(Array().exclusive());
}

TEST(Array, ReshapeAndRowShareTheElements) {
  Array array = Array::of({1, 2, 3, 4, 5, 6}, {3, 2});
  Array flat = array.reshape({6}), row = array.row(1);
  EXPECT_EQ(row.shape(), (Shape{2}));
  EXPECT_THAT(values<int>(row), ElementsAre(3, 4));
  row.span<int>()[0] = 30;
  EXPECT_EQ(flat.at(2), 30);
  EXPECT_EQ(array.row(0).row(1).item(), 2);
}

TEST(Array, WrongUseIsAnError) {
  Array array = Array::of({1, 2, 3});
  EXPECT_THAT([&] { array.span<float>(); },
              ThrowsMessage<Error>(StrEq("array: elements are i32, not f32")));
  EXPECT_THAT(
      [&] {
        Array::of({1, 2}, {3});
      },
      ThrowsMessage<Error>(StrEq("array: 2 values do not fill the shape [3]")));
  EXPECT_THAT([&] { array.item(); },
              ThrowsMessage<Error>(StrEq("array: item() needs exactly one element, the shape is "
                                         "[3]")));
  for (std::int64_t index : {-1, 3}) {
    EXPECT_THAT(
        [&] { array.at(index); },
        ThrowsMessage<Error>(StrEq(concat("array: index ", index, " is outside the shape [3]"))));
    EXPECT_THAT(
        [&] { array.row(index); },
        ThrowsMessage<Error>(StrEq(concat("array: row ", index, " is outside the shape [3]"))));
  }
  EXPECT_THAT([&] { Array::scalar(1).row(0); }, ThrowsMessage<Error>(HasSubstr("row 0")));
  EXPECT_THAT([&] { array.reshape({2}); },
              ThrowsMessage<Error>(StrEq("array: cannot reshape [3] to [2]")));
}

TEST(Array, AnUndefinedOneHasNoElements) {
  Array none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(to_string(none), "undefined");
  EXPECT_THAT([&] { none.span<float>(); },
              ThrowsMessage<Error>(StrEq("array: undefined, it has no elements")));
  EXPECT_THROW(none.item(), Error);
  EXPECT_THROW(none.at(0), Error);
  EXPECT_THROW(none.reshape({1}), Error);
  EXPECT_THROW(none.cast(DType::f64), Error);
  EXPECT_TRUE(identical(none, Array()));
  EXPECT_FALSE(identical(none, Array::scalar(1.0f)));
}

#ifndef __SANITIZE_ADDRESS__  // its allocator stops the program instead
TEST(Array, MoreThanTheMemoryThereIsIsAnError) {
  EXPECT_THAT([] { Array({std::int64_t{1} << 58}, DType::u8); },
              ThrowsMessage<Error>(StrEq("out of host memory: could not allocate 262144.0 TiB")));
}
#endif

TEST(ArrayCast, WidensExactly) {
  Array array = Array::of<std::uint8_t>({0, 1, 255});
  EXPECT_THAT(values<float>(array.cast(DType::f32)), ElementsAre(0, 1, 255));
  EXPECT_THAT(values<std::int64_t>(array.cast(DType::i64)), ElementsAre(0, 1, 255));
  Array half = Array::of({1.5f, -2.0f}).cast(DType::bf16);
  EXPECT_THAT(values<double>(half.cast(DType::f64)), ElementsAre(1.5, -2.0));
  EXPECT_FALSE(array.cast(DType::u8).raw() == array.raw());
}

TEST(ArrayCast, NarrowingFloatsRoundsToNearestEven) {
  Array array = Array::of({1.0 + 0x1p-8, 1.0 + 0x1p-8 + 0x1p-20, 1e300});
  EXPECT_EQ(array.cast(DType::bf16).at(0), 1.0);
  EXPECT_EQ(array.cast(DType::bf16).at(1), 1.0 + 0x1p-7);
  EXPECT_EQ(array.cast(DType::f16).at(0), 1.0 + 0x1p-8);
  EXPECT_EQ(array.cast(DType::f32).at(2), infinity);
}

TEST(ArrayCast, FloatsToIntegersTruncateAndSaturate) {
  Array array = Array::of({1.9f, -1.9f, -0.5f, 255.9f, 1e20f, -1e20f, infinity, -infinity, nan});
  EXPECT_THAT(values<std::int32_t>(array.cast(DType::i32)),
              ElementsAre(1, -1, 0, 255, 2147483647, INT32_MIN, 2147483647, INT32_MIN, 0));
  EXPECT_THAT(values<std::int64_t>(array.cast(DType::i64)),
              ElementsAre(1, -1, 0, 255, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0));
  EXPECT_THAT(values<std::uint8_t>(array.cast(DType::u8)),
              ElementsAre(1, 0, 0, 255, 255, 0, 255, 0, 0));
  Array edges = Array::of({2147483647.0, 2147483647.9, 2147483648.0, -2147483648.9});
  EXPECT_THAT(values<std::int32_t>(edges.cast(DType::i32)),
              ElementsAre(2147483647, 2147483647, 2147483647, INT32_MIN));
  EXPECT_THAT(values<std::int64_t>(Array::scalar(0x1p63).cast(DType::i64)), ElementsAre(INT64_MAX));
}

TEST(ArrayCast, BooleansAreWhetherAValueIsNotZero) {
  Array array = Array::of({0.0f, -0.0f, 0.25f, nan});
  EXPECT_THAT(values<bool>(array.cast(DType::boolean)), ElementsAre(false, false, true, true));
  EXPECT_THAT(values<bool>(Array::of({0, 256}).cast(DType::boolean)), ElementsAre(false, true));
  EXPECT_THAT(values<float>(Array::of({true, false}).cast(DType::f32)), ElementsAre(1, 0));
}

TEST(Array, IdenticalComparesTypesAndBytes) {
  Array a = Array::of({1.0f, nan});
  EXPECT_TRUE(identical(a, a.clone()));
  EXPECT_FALSE(identical(a, Array::of({1.0f, 2.0f})));
  EXPECT_FALSE(identical(a, a.reshape({2, 1})));
  EXPECT_FALSE(identical(Array::of({0.0f}), Array::of({-0.0f})));
  EXPECT_FALSE(identical(Array::of({0}), Array::of({0.0f})));
  EXPECT_TRUE(identical(Array(Shape{0}, DType::f32), Array(Shape{0}, DType::f32)));
}

TEST(Array, ToStringShowsTypeAndFirstValues) {
  EXPECT_EQ(to_string(Array::of({1.5f, 2.0f})), "f32[2] {1.5, 2}");
  EXPECT_EQ(to_string(Array::zeros({9}, DType::i64)), "i64[9] {0, 0, 0, 0, 0, 0, 0, 0, ...}");
}

}  // namespace
}  // namespace belfry
