#include "../on_gpu.h"

namespace belfry {
namespace {

double argmax_difference(const Array& x, int axis) {
  Graph graph;
  Tensor of = input(graph, "x", x.type());
  return difference_on_gpu({argmax(of, axis), argmin(of, axis)}, {{"x", x}});
}

// Few different numbers, so that most are not the first of their kind.
TEST(CudaArgmax, EveryTypeAndAxis) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8})
    for (const Shape& shape : {Shape{6, 5, 37}, Shape{9, 3, 64}, Shape{2, 1, 3001}})
      for (int axis : {0, 1, 2}) {
        Array x = numbers(shape, DType::i32, 0, 9).cast(dtype);
        EXPECT_EQ(argmax_difference(x, axis), 0)
            << to_string(TensorType{shape, dtype}) << " axis " << axis;
      }
}

TEST(CudaArgmax, TheFirstNanWins) {
  for (const Shape& shape : {Shape{3, 40}, Shape{2, 3000}})
    for (int axis : {0, 1}) {
      Array x = numbers(shape, DType::f32);
      for (std::size_t at : {17, 5, 39, 61}) x.span<float>()[at] = std::nanf("");
      EXPECT_EQ(argmax_difference(x, axis), 0) << to_string(shape) << " axis " << axis;
    }
}

TEST(CudaArgmax, InfinitiesAndEqualElements) {
  for (float value : {-HUGE_VALF, HUGE_VALF, 0.f}) {
    Array x({2, 50}, DType::f32);
    for (float& element : x.span<float>()) element = value;
    EXPECT_EQ(argmax_difference(x, 1), 0) << value;
  }
}

}  // namespace
}  // namespace belfry
