#include "../on_gpu.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

// Packs or not, one launch or two, no rows.
TEST(CudaReluGradSum, EveryTypeAndSize) {
  for (DType dtype : floating_types)
    for (const Shape& shape :
         {Shape{5, 2, 37}, {3, 4, 4, 16}, {6000, 8}, {5000, 3}, {40, 264}, {1, 7}, {0, 5}}) {
      Graph graph;
      std::map<std::string, Array> operands{{"dy", numbers(shape, dtype, -1, 2, 5)},
                                            {"y", numbers(shape, dtype, -1, 1, 7)}};
      Node& node = apply(relu_grad_sum_op, {input(graph, "dy", operands.at("dy").type()),
                                            input(graph, "y", operands.at("y").type())});
      EXPECT_EQ(difference_on_gpu({Tensor(node, 0)}, operands), 0)
          << to_string(TensorType{shape, dtype});
      DType sums = node.output(1).dtype;
      EXPECT_LE(difference_on_gpu({Tensor(node, 1)}, operands), allowed(sums, 64))
          << to_string(TensorType{shape, dtype});
    }
}

// As the two ops that it stands for, to the bit.
TEST(CudaReluGradSum, IsReluGradAndSum) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Graph graph;
    Shape shape{6000, 24};
    std::map<std::string, Array> operands{{"dy", numbers(shape, dtype, -1, 2, 5)},
                                          {"y", numbers(shape, dtype, -1, 1, 7)}};
    Tensor dy = input(graph, "dy", operands.at("dy").type()),
           y = input(graph, "y", operands.at("y").type());
    Node& both = apply(relu_grad_sum_op, {dy, y});
    Tensor dx = relu_grad(dy, y), wide = cast(dx, DType::f32);
    auto on_gpu = [&](const Tensor& t) {
      return evaluate(std::vector{t}, operands, {.device = "cuda"})[0];
    };
    EXPECT_TRUE(identical(on_gpu(Tensor(both, 0)), on_gpu(dx)));
    Array one = on_gpu(Tensor(both, 1)), other = on_gpu(sum(wide, {.axes = {0}}));
    if (dtype == DType::f32) {
      EXPECT_TRUE(identical(one, other));
    } else {
      // Eight 16-bit columns are a thread's, and four of f32: sums are cut otherwise.
      EXPECT_LE(relative_difference(one, other), 64 * 0x1p-23);
    }
  }
}

}  // namespace
}  // namespace belfry
