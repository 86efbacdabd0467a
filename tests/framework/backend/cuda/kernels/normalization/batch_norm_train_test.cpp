#include "../on_gpu.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

struct Case {
  Shape shape;
  DType dtype = DType::f32;
  bool residual = false, relu = false;
};

std::map<std::string, Array> operands(const Case& c) {
  DType wide = c.dtype == DType::f64 ? DType::f64 : DType::f32;
  Shape channels{c.shape[c.shape.rank() - 1]};
  return {{"x", numbers(c.shape, c.dtype, -1, 5)},
          {"residual", numbers(c.shape, c.dtype, -1, 1, 7)},
          {"scale", numbers(channels, wide, .5, 2)},
          {"offset", numbers(channels, wide, -1, 1, 9)}};
}

/// y, mean, variance and inverse standard deviation.
std::vector<Tensor> results(Graph& graph, const Case& c,
                            const std::map<std::string, Array>& operands) {
  auto operand = [&](const char* name) { return input(graph, name, operands.at(name).type()); };
  std::vector<Tensor> inputs{operand("x"), operand("scale"), operand("offset")};
  if (c.residual) inputs.push_back(operand("residual"));
  Node& node = apply(batch_norm_train_op, inputs,
                     BatchNormOptions{.activation = c.relu ? Activation::relu : Activation::none,
                                      .residual = c.residual});
  return {Tensor(node, 0), Tensor(node, 1), Tensor(node, 2), Tensor(node, 3)};
}

double difference(const Case& c) {
  Graph graph;
  auto inputs = operands(c);
  return difference_on_gpu(results(graph, c, inputs), inputs);
}

// Packs or not, one launch or two, idle threads.
TEST(CudaBatchNormTrain, EveryTypeSizeAndOption) {
  for (DType dtype : floating_types)
    for (const Shape& shape :
         {Shape{5, 2, 37}, {3, 4, 4, 16}, {6000, 8}, {5000, 3}, {40, 264}, {1, 7}})
      for (bool residual : {false, true})
        for (bool relu : {false, true})
          EXPECT_LE(difference({shape, dtype, residual, relu}), allowed(dtype, 8))
              << to_string(TensorType{shape, dtype}) << (residual ? " residual" : "")
              << (relu ? " relu" : "");
}

// To the bit, where the sign is that of an f32 that is no nearer to 0 than it may err.
TEST(CudaBatchNormTrain, LeavesAMask) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{3, 4, 4, 16}, {6000, 8}, {40, 264}, {0, 8}}) {
      Graph graph;
      auto all = operands({shape, dtype});
      std::vector<Tensor> inputs;
      for (const char* name : {"x", "scale", "offset", "residual"})
        inputs.push_back(input(graph, name, all.at(name).type()));
      Node& node =
          apply(batch_norm_train_op, inputs,
                BatchNormOptions{.activation = Activation::relu, .residual = true, .mask = true});
      EXPECT_EQ(difference_on_gpu({Tensor(node, 4)}, all), 0)
          << to_string(TensorType{shape, dtype});
      EXPECT_LE(difference_on_gpu({Tensor(node, 0)}, all), allowed(dtype, 8));
    }
}

TEST(CudaBatchNormTrain, AnEmptyBatch) { EXPECT_EQ(difference({{0, 5}}), 0); }

// A sum of squares would lose all digits.
TEST(CudaBatchNormTrain, FarFromZero) {
  Graph graph;
  Case c{{6000, 8}};
  auto inputs = operands(c);
  for (float& x : inputs.at("x").span<float>()) x += 4096;
  std::vector<Tensor> all = results(graph, c, inputs);
  EXPECT_LE(difference_on_gpu({all[1], all[2]}, inputs), 1e-4);
}

TEST(CudaBatchNormTrain, NanAndInfinityStayInTheirChannel) {
  for (float value : {HUGE_VALF, std::nanf("")}) {
    Graph graph;
    Case c{{6000, 8}, DType::f32, false, true};
    auto inputs = operands(c);
    inputs.at("x").span<float>()[8 * 4321 + 3] = value;
    std::vector<Tensor> all = results(graph, c, inputs);
    EXPECT_LE(difference_on_gpu({all[0], all[2], all[3]}, inputs), allowed(DType::f32, 8));
  }
}

}  // namespace
}  // namespace belfry
