#include "on_gpu.h"

namespace belfry {
namespace {

double softmax_difference(const Array& x, int axis) {
  Graph graph;
  Tensor of = input(graph, "x", x.type());
  return difference_on_gpu({softmax(of, axis), log_softmax(of, axis)}, {{"x", x}});
}

TEST(CudaSoftmax, EveryTypeAndAxis) {
  for (DType dtype : floating_types)
    for (const Shape& shape : {Shape{6, 10, 37}, Shape{9, 3, 64}, Shape{2, 1, 3001}})
      for (int axis : {0, 1, 2})
        EXPECT_LE(softmax_difference(numbers(shape, dtype, -9, 9), axis), allowed(dtype, 8))
            << to_string(TensorType{shape, dtype}) << " axis " << axis;
}

TEST(CudaSoftmax, Empty) {
  EXPECT_EQ(softmax_difference(Array({0, 3}, DType::f32), 1), 0);
  EXPECT_EQ(softmax_difference(Array({3, 0}, DType::f32), 1), 0);
  EXPECT_EQ(softmax_difference(Array({3, 0}, DType::f32), 0), 0);
}

// Rows that have one, where NaN follows, and rows of nothing else.
TEST(CudaSoftmax, InfinitiesAndNan) {
  for (float value : {-HUGE_VALF, HUGE_VALF, std::nanf("")}) {
    Array x = numbers({3, 40}, DType::f32);
    x.span<float>()[50] = value;
    for (std::size_t i = 80; i < 120; ++i) x.span<float>()[i] = value;
    for (int axis : {0, 1})
      EXPECT_LE(softmax_difference(x, axis), allowed(DType::f32, 8)) << value << " axis " << axis;
  }
}

}  // namespace
}  // namespace belfry
