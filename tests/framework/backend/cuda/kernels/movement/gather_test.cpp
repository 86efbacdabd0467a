// Covers gather.cu, gather_grad.cu and one_hot.cu.

#include "../on_gpu.h"
#include "belfry/framework/ops/defs.h"

namespace belfry {
namespace {

constexpr DType every_type[] = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                DType::i64, DType::i32, DType::u8,   DType::boolean};

Array indices(std::int64_t count, std::int64_t below, DType dtype = DType::i64) {
  return numbers({count}, DType::f64, 0, static_cast<double>(below)).cast(dtype);
}

TEST(CudaGather, RowsOfEveryTypeAndWidth) {
  for (DType dtype : every_type)
    for (DType index : {DType::i32, DType::i64})
      for (std::int64_t width : {1, 3, 6, 16, 32}) {
        Graph graph;
        Tensor x = input(graph, "x", {{3, 10, width}, dtype});
        Tensor i = input(graph, "i", {{17}, index});
        std::map<std::string, Array> inputs{{"x", numbers(x.shape(), dtype, 0, 100)},
                                            {"i", indices(17, 3, index)}};
        EXPECT_EQ(difference_on_gpu({gather(x, i, 0), gather(x, i, 1)}, inputs), 0)
            << concat(dtype, index, width);
      }
}

struct GradCase {
  Shape shape;
  int axis = 0;
  Array indices;
  DType dtype = DType::f32;
  double allowed = 3e-6;
};

void expect_same_gradient(const GradCase& c) {
  Graph graph;
  std::vector<std::int64_t> sizes(c.shape.begin(), c.shape.end());
  sizes[static_cast<std::size_t>(c.axis)] = c.indices.elements();
  Tensor dy = input(graph, "dy", {Shape(sizes), c.dtype});
  Tensor i = input(graph, "i", c.indices.type());
  Tensor dx = apply1(gather_grad_op, {dy, i}, GatherGradOptions{c.shape, c.axis});
  EXPECT_LE(difference_on_gpu({dx}, {{"dy", numbers(dy.shape(), c.dtype, 0, 2)}, {"i", c.indices}}),
            c.allowed)
      << concat(c.shape, " ", c.dtype, " ", c.indices.elements());
}

// Within a chunk of 32 positions, a tile of 512, and beyond several of both.
TEST(CudaGatherGrad, AnyNumberOfIndices) {
  for (std::int64_t count : {0, 1, 31, 32, 33, 64, 100, 511, 512, 513, 1024, 1500, 2100})
    for (std::int64_t rows : {1, 2, 7, 100, 5000})
      expect_same_gradient({.shape = {rows, 8}, .indices = indices(count, rows)});
}

TEST(CudaGatherGrad, OneIndexInMostPlaces) {
  Array most = Array::zeros({1700}, DType::i32);
  for (std::size_t i = 3; i < 1700; i += 150) most.span<std::int32_t>()[i] = 9;
  for (std::size_t i = 5; i < 1700; i += 333) most.span<std::int32_t>()[i] = 4;
  expect_same_gradient({.shape = {10, 5}, .indices = most});
  for (std::int32_t& i : most.span<std::int32_t>())
    if (i == 0) i = 7;
  expect_same_gradient({.shape = {10, 4}, .indices = most});
}

TEST(CudaGatherGrad, EveryTypeAxisAndWidth) {
  for (auto [dtype, allowed] : {std::pair(DType::f64, 1e-14), std::pair(DType::f32, 3e-6),
                                std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005)})
    for (std::int64_t width : {1, 3, 8, 24})
      for (int axis : {0, 1, 2}) {
        Shape shape = Shape{6, 5, width};
        expect_same_gradient({.shape = shape,
                              .axis = axis,
                              .indices = indices(150, shape[axis], DType::i32),
                              .dtype = dtype,
                              .allowed = allowed});
      }
}

TEST(CudaGather, IndicesOutOfRangeAreErrors) {
  Graph graph;
  Tensor x = input(graph, "x", {{4, 8}, DType::f32}), i = input(graph, "i", {{3}, DType::i64});
  Tensor none = input(graph, "none", {{0, 8}, DType::f32});
  Tensor dy = input(graph, "dy", {{3, 8}, DType::f32});
  auto error = [&](Tensor y, std::int64_t bad) -> std::string {
    try {
      evaluate({y},
               {{"x", numbers(x.shape(), DType::f32)},
                {"none", Array::zeros({0, 8}, DType::f32)},
                {"dy", numbers(dy.shape(), DType::f32)},
                {"i", Array::of({std::int64_t{0}, bad, std::int64_t{3}})}},
               {.device = "cuda"});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  auto grad = [&](Shape shape) {
    return apply1(gather_grad_op, {dy, i}, GatherGradOptions{shape, 0});
  };
  for (std::int64_t bad : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 40}) {
    EXPECT_NE(error(gather(x, i), bad).find("gather: the index at position 1 is outside 0..3"),
              std::string::npos);
    EXPECT_NE(error(grad({4, 8}), bad).find("gather_grad: the index at position 1 is outside 0..3"),
              std::string::npos);
  }
  EXPECT_EQ(error(gather(x, i), 2), "");
  EXPECT_EQ(error(grad({4, 8}), 2), "");
  EXPECT_NE(error(gather(none, i), 0).find(" is into an axis of size 0"), std::string::npos);
  EXPECT_NE(error(grad({0, 8}), 0).find(" is into an axis of size 0"), std::string::npos);
}

TEST(CudaOneHot, EveryType) {
  for (DType dtype : every_type)
    for (DType index : {DType::i64, DType::i32, DType::u8}) {
      Graph graph;
      Tensor i = input(graph, "i", {{5, 60}, index});
      Array values = numbers({5, 60}, DType::f64, index == DType::u8 ? 0 : -3, 12).cast(index);
      EXPECT_EQ(difference_on_gpu({one_hot(i, {.depth = 7, .dtype = dtype}),
                                   one_hot(i, {.depth = 10, .on = 0, .off = 1, .dtype = dtype})},
                                  {{"i", values}}),
                0)
          << concat(dtype, index);
    }
}

}  // namespace
}  // namespace belfry
