#include "reductions.h"

namespace belfry {
namespace {

constexpr DType number_types[] = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                  DType::i64, DType::i32, DType::u8};

// Sums of whole numbers are exact, but for the last rounding, in whatever order.
Array whole_numbers(const Shape& shape, DType dtype) {
  return numbers(shape, DType::i32, -3, 10).cast(dtype);
}

TEST(CudaSum, EveryTypeAndAxes) {
  for (DType dtype : number_types)
    for (const ReductionCase& c : small_reductions)
      EXPECT_EQ(reduction_difference(c, whole_numbers(c.shape, dtype), sum), 0)
          << to_string(TensorType{c.shape, dtype});
}

TEST(CudaSum, Large) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::u8})
    for (const ReductionCase& c : large_reductions)
      EXPECT_EQ(reduction_difference(c, whole_numbers(c.shape, dtype), sum), 0)
          << to_string(TensorType{c.shape, dtype});
}

TEST(CudaSum, AccumulatesInFloatAtLeast) {
  for (DType dtype : {DType::f32, DType::f16})
    for (const ReductionCase& c : large_reductions)
      EXPECT_LE(reduction_difference(c, numbers(c.shape, dtype, 0, 1), sum), allowed(dtype, 4))
          << to_string(TensorType{c.shape, dtype});
}

TEST(CudaSum, OfNothing) {
  for (const ReductionCase& c : empty_reductions) {
    EXPECT_EQ(reduction_difference(c, Array(c.shape, DType::f32), sum), 0) << to_string(c.shape);
    EXPECT_EQ(reduction_difference(c, Array(c.shape, DType::i64), prod), 0) << to_string(c.shape);
  }
}

TEST(CudaProd, EveryTypeAndAxes) {
  for (DType dtype : number_types)
    for (const ReductionCase& c : small_reductions)
      EXPECT_LE(reduction_difference(c, numbers(c.shape, dtype, .99, 1.01), prod),
                allowed(dtype, 64))
          << to_string(TensorType{c.shape, dtype});
}

TEST(CudaProd, WholeNumbersWrapAround) {
  for (DType dtype : {DType::i64, DType::i32, DType::u8}) {
    Array x = numbers({70000}, DType::f64, 0, 9);
    for (double& factor : x.span<double>()) factor = 2 * std::floor(factor) + 1;  // never 0
    x = x.cast(dtype);
    EXPECT_EQ(reduction_difference({x.shape(), {}}, x, prod), 0) << to_string(dtype);
  }
}

}  // namespace
}  // namespace belfry
