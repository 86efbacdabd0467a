#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/runtime/evaluate.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

// Small whole numbers, so that sums are exact in any order.
Array whole_numbers(const Shape& shape, std::int64_t step) {
  Array out(shape, DType::f32);
  std::int64_t i = 0;
  for (float& x : out.span<float>()) x = static_cast<float>(step * i++ % 7 - 3);
  return out;
}

// Images or volumes of 16 and of 8 channels, which one convolution reads.
class ConvolveParts : public ::testing::Test {
 protected:
  void build(DType dtype, bool volumes, std::int64_t filters = 8) {
    Shape images{8, 64, 64, 16}, kernel{3, 3, 24, filters};
    if (volumes) images = {1, 16, 32, 32, 16}, kernel = {3, 3, 3, 24, filters};
    a = input(graph, "a", {images, dtype});
    b = input(graph, "b", {images.with(images.rank() - 1, 8), dtype});
    w = input(graph, "w", {kernel, dtype});
    joined = concat({a, b}, -1);
    y = volumes ? conv3d(joined, w) : conv2d(joined, w);
  }
  std::vector<std::string> ops(const std::vector<Tensor>& outputs) {
    return ops_of(convolve_parts(program_of(outputs)));
  }
  void expect_equal(const std::vector<Tensor>& outputs) {
    std::map<std::string, Array> given;
    for (const Tensor& t : {a, b, w})
      given[t.node().as<InputOptions>().name] = whole_numbers(t.shape(), t.size(-1) + 1);
    std::vector<Array> fast = evaluate(outputs, given),
                       plain = evaluate(outputs, given, {.fast = false});
    for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_TRUE(identical(fast[i], plain[i])) << i;
  }

  Graph graph;
  Tensor a, b, w, joined, y;
};

TEST_F(ConvolveParts, TheConcatIsNowhereInMemory) {
  build(DType::f32, false);
  EXPECT_THAT(ops({y}), ElementsAre("slice", "conv2d", "slice", "conv2d", "add"));
  expect_equal({y});
}

class GradientsInParts : public ConvolveParts, public ::testing::WithParamInterface<bool> {};

TEST_P(GradientsInParts, NoneIsOfTheConcat) {
  build(DType::f32, GetParam());
  std::vector<Tensor> dx = gradients(sum(y * 2), std::vector{a, b, w});
  std::vector<std::string> left = ops(dx);
  std::string_view kind = GetParam() ? "conv3d" : "conv2d";
  EXPECT_EQ(std::ranges::count(left, concat(kind, "_grad_input")), 2);
  EXPECT_EQ(std::ranges::count(left, concat(kind, "_grad_kernel")), 2);
  EXPECT_EQ(std::ranges::count(left, "concat"), 1);  // of the kernel's two gradients
  expect_equal(dx);
}

INSTANTIATE_TEST_SUITE_P(Convolutions, GradientsInParts, ::testing::Bool());

TEST_F(ConvolveParts, ASumIsNotRoundedTwice) {
  build(DType::bf16, false, 8);
  EXPECT_THAT(ops({y}), ElementsAre("concat", "conv2d"));
  std::vector<std::string> left = ops(gradients(sum(y), std::vector{a, b}));
  EXPECT_EQ(std::ranges::count(left, "conv2d_grad_input"), 2);
}

TEST_F(ConvolveParts, NotWhereOthersReadTheConcat) {
  build(DType::f32, false);
  EXPECT_THAT(ops({y, relu(joined)}), ElementsAre("concat", "conv2d", "relu"));
  EXPECT_THAT(ops({y, joined}), ElementsAre("concat", "conv2d"));
}

TEST_F(ConvolveParts, NotWhereTheSumIsLargerThanTheConcat) {
  build(DType::f32, false, 32);
  EXPECT_THAT(ops({y}), ElementsAre("concat", "conv2d"));
}

TEST_F(ConvolveParts, NotOfNarrowOrSmallParts) {
  Tensor large = f32(graph, "large", {4, 64, 64, 16}),
         narrow = f32(graph, "narrow", {4, 64, 64, 4});
  Tensor kernel = f32(graph, "k", {3, 3, 20, 8});
  EXPECT_THAT(ops({conv2d(concat({large, narrow}, -1), kernel)}), ElementsAre("concat", "conv2d"));
  Tensor small = f32(graph, "small", {1, 8, 8, 16}), other = f32(graph, "other", {3, 3, 32, 8});
  EXPECT_THAT(ops({conv2d(concat({small, small}, -1), other)}), ElementsAre("concat", "conv2d"));
  Tensor rows = concat({large, large}, 0);
  EXPECT_THAT(ops({conv2d(rows, f32(graph, "r", {3, 3, 16, 8}))}), ElementsAre("concat", "conv2d"));
}

}  // namespace
}  // namespace belfry
