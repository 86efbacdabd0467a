#include "reductions.h"

namespace belfry {
namespace {

constexpr DType number_types[] = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                  DType::i64, DType::i32, DType::u8};

TEST(CudaExtremum, EveryTypeAndAxes) {
  for (DType dtype : number_types)
    for (const ReductionCase& c : small_reductions) {
      Array below = numbers(c.shape, dtype, -100, -1), above = numbers(c.shape, dtype, 1, 100);
      for (const Array& x : {below, above}) {
        EXPECT_EQ(reduction_difference(c, x, max), 0) << to_string(TensorType{c.shape, dtype});
        EXPECT_EQ(reduction_difference(c, x, min), 0) << to_string(TensorType{c.shape, dtype});
      }
    }
}

TEST(CudaExtremum, Large) {
  for (DType dtype : {DType::f32, DType::f16, DType::i64})
    for (const ReductionCase& c : large_reductions) {
      Array x = numbers(c.shape, dtype, -1e4, 1e4);
      EXPECT_EQ(reduction_difference(c, x, max), 0) << to_string(TensorType{c.shape, dtype});
      EXPECT_EQ(reduction_difference(c, x, min), 0) << to_string(TensorType{c.shape, dtype});
    }
}

TEST(CudaExtremum, NanWins) {
  for (const ReductionCase& c : large_reductions) {
    Array x = numbers(c.shape, DType::f32);
    x.span<float>()[static_cast<std::size_t>(x.elements() - 2)] = std::nanf("");
    EXPECT_EQ(reduction_difference(c, x, max), 0) << to_string(c.shape);
    EXPECT_EQ(reduction_difference(c, x, min), 0) << to_string(c.shape);
  }
}

TEST(CudaExtremum, OfNothing) {
  for (const ReductionCase& c : empty_reductions)
    for (DType dtype : {DType::f32, DType::f16, DType::i32}) {
      EXPECT_EQ(reduction_difference(c, Array(c.shape, dtype), max), 0) << to_string(c.shape);
      EXPECT_EQ(reduction_difference(c, Array(c.shape, dtype), min), 0) << to_string(c.shape);
    }
}

}  // namespace
}  // namespace belfry
