// The faults that random models found, each as small as it can be.
#include <map>
#include <string>
#include <vector>

#include "../../framework/train/comparing.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

// As concat() does. Without mixed precision they are an error, and so is a whole number beside
// them.
TEST(FoundByRandomModels, StackTakesTheWidestOfItsPartsInMixedPrecision) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 1}, DType::f32}), i = input(graph, "i", {{1, 1}, DType::i64});
  EXPECT_THAT(error_of([&] { stack({x, cast(x, DType::bf16)}); }), HasSubstr("must be alike"));
  graph.set_input_rule(autocast(DType::bf16));
  Tensor both = stack({matmul(x, x), x});
  EXPECT_EQ(both.type(), (TensorType{{2, 1, 1}, DType::f32}));
  Array three = evaluate({both}, {{"x", Array::of({3.0f}, {1, 1})}})[0];
  EXPECT_EQ(three.at(0), 9);
  EXPECT_EQ(three.at(1), 3);
  EXPECT_THAT(error_of([&] { stack({x, i}); }), HasSubstr("must be alike"));
}

// Two inputs of 12 bytes, each at a multiple of 64: what a step has in use is never more than said.
TEST(FoundByRandomModels, APlanCountsThePlacesOfItsInputs) {
  Estimator estimator({.model_fn = linear, .run = on_cpus(1, 1)});
  EXPECT_THAT(estimator.plan(once({points({1, 2, 3}, {2, 4, 6})}), {.steps = 1}),
              HasSubstr("parameters and statistics 8 B, inputs 128 B, "));
}

// Multiples of 1/4 below 2: products are exact in f32, in any order.
Array quarters(const TensorType& type, int first) {
  Array out = Array::zeros(type.shape, DType::f32);
  for (float& value : out.span<float>()) value = static_cast<float>(first++ * 5 % 17 - 8) / 4;
  return out.cast(type.dtype);
}

void expect_gradients_of_the_reference(Graph& graph, Tensor x, Tensor kernel, Tensor y) {
  Tensor dy = input(graph, "dy", y.type());
  std::vector<Tensor> wanted = gradients(y, std::vector{x, kernel}, dy);
  std::map<std::string, Array> feed{{"x", quarters(x.type(), 1)},
                                    {"kernel", quarters(kernel.type(), 2)},
                                    {"dy", quarters(dy.type(), 3)}};
  std::vector<Array> exact = evaluate(wanted, feed, {.fast = false}), got = evaluate(wanted, feed);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_TRUE(identical(got[i], exact[i])) << i;
}

// oneDNN 2.6 read behind the image, and wrote behind its memory.
TEST(FoundByRandomModels, GradientsOfKernelsThatReachBeyondASmallImage) {
  struct Case {
    DType dtype;
    Shape x, kernel;
    Size3 stride;
    std::vector<std::int64_t> padding = {};  // none: `same`
  };
  const Case all[] = {
      {DType::bf16, {6, 4, 1, 1, 1}, {4, 1, 1, 1, 1}, {3, 2, 1}},
      {DType::bf16, {5, 7, 1, 8, 3}, {3, 3, 2, 3, 3}, {1, 3, 2}},
      {DType::bf16, {4, 9, 3, 5, 2}, {4, 2, 1, 2, 3}, {1, 1, 3}},
      {DType::bf16, {2, 9, 2, 7, 1}, {4, 4, 4, 1, 20}, {2, 2, 3}},
      {DType::bf16, {1, 1, 8, 1, 2}, {1, 2, 4, 2, 2}, {1, 1, 3}},
      {DType::bf16, {2, 1, 4, 1, 3}, {1, 2, 4, 3, 40}, {1, 1, 2}},
      {DType::bf16, {5, 1, 2, 2, 18}, {1, 3, 4, 18, 2}, {1, 1, 3}},
      {DType::bf16, {16, 1, 2, 2, 2}, {1, 2, 2, 2, 2}, {1, 1, 3}, {0, 0, 1, 1, 1, 0}},
      {DType::bf16, {2, 1, 2, 1, 2}, {1, 2, 3, 2, 2}, {1, 1, 2}, {0, 0, 1, 1, 2, 2}},
      {DType::bf16, {2, 2, 1, 2, 2}, {1, 4, 1, 2, 2}, {1, 1, 1}, {0, 0, 2, 1, 0, 0}},
      {DType::f32, {1, 5, 2, 2, 2}, {7, 1, 1, 2, 2}, {2, 1, 1}, {3, 3, 0, 0, 0, 0}},
      {DType::f32, {2, 2, 4, 2, 2}, {1, 6, 1, 2, 2}, {1, 2, 1}, {0, 0, 3, 0, 0, 0}}};
  for (const auto& [dtype, x_shape, kernel_shape, stride, p] : all) {
    SCOPED_TRACE(concat(x_shape, " under ", kernel_shape));
    Graph volume, image;
    Tensor x = input(volume, "x", {x_shape, dtype}),
           kernel = input(volume, "kernel", {kernel_shape, dtype});
    Padding padding;
    if (!p.empty()) padding = Padding::explicit_amounts(p[0], p[1], p[2], p[3], p[4], p[5]);
    expect_gradients_of_the_reference(volume, x, kernel,
                                      conv3d(x, kernel, {.stride = stride, .padding = padding}));
    if (x_shape[1] > 1 || kernel_shape[0] > 1) continue;
    const Shape &v = x_shape, &k = kernel_shape;
    x = input(image, "x", {{v[0], v[2], v[3], v[4]}, dtype});
    kernel = input(image, "kernel", {{k[1], k[2], k[3], k[4]}, dtype});
    if (!p.empty()) padding = Padding::explicit_amounts(p[2], p[3], p[4], p[5]);
    expect_gradients_of_the_reference(
        image, x, kernel,
        conv2d(x, kernel, {.stride = {stride.rows, stride.columns}, .padding = padding}));
  }
}

}  // namespace
}  // namespace belfry
