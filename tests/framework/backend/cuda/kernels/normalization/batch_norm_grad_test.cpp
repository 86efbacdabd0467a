#include "../on_gpu.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

struct Case {
  Shape shape;
  DType dtype = DType::f32;
  bool residual = false, relu = false;
  ReluGate gate = ReluGate::output;
};

double difference(const Case& c) {
  Graph graph;
  DType wide = c.dtype == DType::f64 ? DType::f64 : DType::f32;
  Shape channels{c.shape[c.shape.rank() - 1]};
  std::map<std::string, Array> operands{
      {"dy", numbers(c.shape, c.dtype, -1, 2, 5)},
      {"x", numbers(c.shape, c.dtype, -1, 5)},
      {"scale", numbers(channels, wide, .5, 2)},
      {"mean", numbers(channels, wide, 0, 1, 3)},
      {"inv_std", numbers(channels, wide, .5, 1, 4)},
      {"y", numbers(c.shape, c.dtype, -1, 1, 7)},
      {"offset", numbers(channels, wide, -1, 1, 9)},
      {"mask", numbers(Shape{c.shape.elements() / 8}, DType::u8, 0, 256, 13)}};
  std::vector<Tensor> inputs;
  for (const char* name : {"dy", "x", "scale", "mean", "inv_std"})
    inputs.push_back(input(graph, name, operands.at(name).type()));
  std::string gate = c.gate == ReluGate::output ? "y" : to_string(c.gate);
  if (c.relu) inputs.push_back(input(graph, gate, operands.at(gate).type()));
  Node& node =
      apply(batch_norm_grad_op, inputs,
            BatchNormGradOptions{c.relu ? Activation::relu : Activation::none, c.residual, c.gate});
  std::vector<Tensor> results;
  for (int i = 0; i < (c.residual ? 4 : 3); ++i) results.emplace_back(node, i);
  return difference_on_gpu(results, operands);
}

// A mask is of 16-bit elements, and of whole bytes.
bool may_be_masked(const Shape& shape, DType dtype) {
  return size_of(dtype) == 2 && shape[shape.rank() - 1] % 8 == 0;
}

// Packs or not, one launch or two, idle threads.
TEST(CudaBatchNormGrad, EveryTypeSizeAndOption) {
  for (DType dtype : floating_types)
    for (const Shape& shape :
         {Shape{5, 2, 37}, {3, 4, 4, 16}, {6000, 8}, {5000, 3}, {40, 264}, {1, 7}})
      for (bool residual : {false, true})
        for (auto [relu, gate] :
             {std::pair{false, ReluGate::output}, std::pair{true, ReluGate::output},
              std::pair{true, ReluGate::offset}, std::pair{true, ReluGate::mask}}) {
          if (gate == ReluGate::mask && !may_be_masked(shape, dtype)) continue;
          EXPECT_LE(difference({shape, dtype, residual, relu, gate}), allowed(dtype, 16))
              << to_string(TensorType{shape, dtype}) << (residual ? " residual" : "")
              << (relu ? " relu by " : "") << to_string(gate);
        }
}

TEST(CudaBatchNormGrad, AnEmptyBatch) {
  EXPECT_EQ(difference({{0, 5}, DType::f32, true, true, ReluGate::offset}), 0);
}

}  // namespace
}  // namespace belfry
