#include "belfry/framework/backend/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace belfry {
namespace {

using ::testing::ElementsAre;

// Five elements in two segments.
template <class T>
struct Row {
  std::array<T, 2> head;
  std::array<T, 3> tail;
  Bucket bucket(ReduceOp op = ReduceOp::sum) {
    return {.name = "row",
            .segments = {{head.data(), 2}, {tail.data(), 3}},
            .dtype = dtype_of<T>,
            .op = op};
  }
};

TEST(Segments, AreReducedInTheOrderOfTheSources) {
  Row<double> a{{-1e16, 1}, {1, 2, 3}}, b{{1, 10}, {10, 20, 30}}, c{{1e16, 100}, {100, 200, 300}};
  Bucket x = a.bucket(), y = b.bucket(), z = c.bucket();
  std::array<const Bucket*, 3> sources{&x, &y, &z}, turned{&z, &x, &y};
  reduce(sources, std::span(sources).subspan(1, 1), 0, 4);
  EXPECT_THAT(b.head, ElementsAre(0, 111));  // (-1e16 + 1) + 1e16
  EXPECT_THAT(b.tail, ElementsAre(111, 222, 30));
  EXPECT_THAT(a.head, ElementsAre(-1e16, 1));
  b = {{1, 10}, {10, 20, 30}};
  reduce(turned, std::span(sources).first(1), 0, 1);
  EXPECT_EQ(a.head[0], 1);  // (1e16 - 1e16) + 1
}

TEST(Segments, LargestAndFirst) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Row<double> a{{-0.0, 5}, {1, nan, 3}}, b{{4, 2}, {nan, 2, 7}};
  Bucket x = a.bucket(ReduceOp::first), y = b.bucket(ReduceOp::first);
  reduce_all({&x, &y}, 0, 2);
  EXPECT_THAT(b.head, ElementsAre(0, 5));
  EXPECT_TRUE(std::signbit(b.head[0]));
  x.op = y.op = ReduceOp::max;
  reduce_all({&x, &y}, 2, 5);
  for (const auto& tail : {a.tail, b.tail}) {
    EXPECT_TRUE(std::isnan(tail[0]) && std::isnan(tail[1]));
    EXPECT_EQ(tail[2], 7);
  }
}

TEST(Segments, ShortFloatsAreRoundedOnce) {
  // 256 + 1 is not a BFloat16 (they are 2 apart there), 256 + 1 + 1 is.
  std::array<BFloat16, 3> values{BFloat16(256), BFloat16(1), BFloat16(1)};
  std::vector<Bucket> buckets;
  for (BFloat16& v : values)
    buckets.push_back({.name = "v", .segments = {{&v, 1}}, .dtype = DType::bf16});
  reduce_all({&buckets[0], &buckets[1], &buckets[2]}, 0, 1);
  for (BFloat16 v : values) EXPECT_EQ(static_cast<float>(v), 258);
}

TEST(Segments, FitWhenTheirSizesDo) {
  Row<float> a, b;
  Row<double> c;
  EXPECT_TRUE(fits(a.bucket(), b.bucket()));
  EXPECT_FALSE(fits(a.bucket(), c.bucket()));
  EXPECT_FALSE(fits(a.bucket(), b.bucket(ReduceOp::max)));
  Bucket shorter = b.bucket();
  shorter.segments.pop_back();
  EXPECT_FALSE(fits(a.bucket(), shorter));
  EXPECT_EQ(elements_of(a.bucket()), 5);
  EXPECT_EQ(elements_of(shorter), 2);
}

TEST(Segments, BooleansAreNotReduced) {
  bool truth = true;
  Bucket b{.name = "flags", .segments = {{&truth, 1}}, .dtype = DType::boolean};
  try {
    reduce_all({&b, &b}, 0, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "flags: elements of type bool cannot be reduced; cast them");
  }
}

}  // namespace
}  // namespace belfry
