// Covers matmul.cu and product.h.

#include "../on_gpu.h"
#include "belfry/framework/ops/defs.h"

namespace belfry {
namespace {

struct Case {
  Shape a, b;
  DType dtype = DType::f32;
  MatmulOptions options = {};
  double allowed = 2e-6;
};

double difference(const Case& c) {
  Graph graph;
  Tensor a = input(graph, "a", {c.a, c.dtype}), b = input(graph, "b", {c.b, c.dtype});
  return difference_on_gpu({apply1(matmul_op, {a, b}, MatmulNodeOptions{.product = c.options})},
                           {{"a", numbers(c.a, c.dtype)}, {"b", numbers(c.b, c.dtype, -3, 3)}});
}

// Full tiles and rests along every axis, with each operand either way round.
TEST(CudaMatmul, TilesOfEveryTranspose) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      Case c{.a = ta ? Shape{37, 70} : Shape{70, 37},
             .b = tb ? Shape{130, 37} : Shape{37, 130},
             .options = {.transpose_a = ta, .transpose_b = tb}};
      EXPECT_LT(difference(c), c.allowed) << ta << tb;
    }
}

TEST(CudaMatmul, EveryType) {
  for (auto [dtype, allowed] :
       {std::pair(DType::f64, 1e-14), std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005),
        std::pair(DType::i64, 0.0), std::pair(DType::i32, 0.0), std::pair(DType::u8, 0.0)}) {
    EXPECT_LE(difference({.a = {70, 20}, .b = {20, 66}, .dtype = dtype}), allowed)
        << to_string(dtype);
    EXPECT_LE(difference({.a = {3, 20}, .b = {20, 300}, .dtype = dtype}), allowed)
        << to_string(dtype);
  }
}

// Long sums are cut; the slices do not divide them evenly.
TEST(CudaMatmul, SlicesOfLongSums) {
  for (Case c : {Case{.a = {9, 2900}, .b = {2900, 11}}, Case{.a = {2, 5003}, .b = {5003, 3}},
                 Case{.a = {2, 9, 1030}, .b = {1030, 8}},
                 Case{.a = {9, 3000}, .b = {3000, 11}, .dtype = DType::i32}})
    EXPECT_LT(difference(c), 1e-5) << to_string(c.a);
}

TEST(CudaMatmul, BatchesThatRepeat) {
  for (auto [a, b] :
       {std::pair(Shape{3, 1, 9, 5}, Shape{4, 5, 10}), std::pair(Shape{9, 5}, Shape{2, 3, 5, 65}),
        std::pair(Shape{2, 1, 2, 5}, Shape{1, 3, 5, 2})})
    EXPECT_LT(difference({.a = a, .b = b}), 2e-6) << to_string(a);
}

TEST(CudaMatmul, BiasAndActivation) {
  for (std::int64_t k : {30, 2000})  // in one slice, in several
    for (Activation activation : {Activation::none, Activation::relu}) {
      Graph graph;
      Tensor a = input(graph, "a", {{20, k}, DType::f32});
      Tensor b = input(graph, "b", {{k, 33}, DType::f32});
      Tensor bias = input(graph, "bias", {{33}, DType::f32});
      MatmulNodeOptions options{.product = {}, .bias = true, .activation = activation};
      EXPECT_LT(difference_on_gpu({apply1(matmul_op, {a, b, bias}, options)},
                                  {{"a", numbers(a.shape(), DType::f32)},
                                   {"b", numbers(b.shape(), DType::f32)},
                                   {"bias", numbers(bias.shape(), DType::f32, -50, 50)}}),
                1e-5);
    }
}

TEST(CudaMatmul, ActivationKeepsNan) {
  Graph graph;
  Tensor a = input(graph, "a", {{8, 8}, DType::f32});
  MatmulNodeOptions options{.product = {}, .bias = false, .activation = Activation::relu};
  Array nan(a.shape(), DType::f32);
  for (float& x : nan.span<float>()) x = std::nanf("");
  Array y = evaluate({apply1(matmul_op, {a, a}, options)}, {{"a", nan}}, {.device = "cuda"})[0];
  for (std::int64_t i = 0; i < y.elements(); ++i) EXPECT_TRUE(std::isnan(y.at(i)));
}

}  // namespace
}  // namespace belfry
