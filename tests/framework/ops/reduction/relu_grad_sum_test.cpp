#include "../nn_support.h"

namespace belfry::testing {
namespace {

std::vector<Tensor> both_outputs(const Scope&, std::span<const Tensor> in) {
  Node& node = apply(relu_grad_sum_op, {in[0], in[1]});
  return {Tensor(node, 0), Tensor(node, 1)};
}

TEST(ReluGradSum, AgreesWithItsReference) {
  for (Shape shape : {Shape{7}, Shape{0, 3}, Shape{3, 5}, Shape{2, 3, 4, 8}, Shape{300, 2}})
    EXPECT_EQ(check_op({.build = both_outputs,
                        .inputs = {noise(shape, 1), noise(shape, 2)},
                        .gradient = false}),
              "")
        << concat(shape);
}

TEST(ReluGradSum, HandComputed) {
  Graph graph;
  Tensor dy = floats(graph, {3, 2}, {1, 2, 3, 4, 5, 6}),
         y = floats(graph, {3, 2}, {0.5f, 0, -1, 1, 2, 3});
  Node& node = apply(relu_grad_sum_op, {dy, y});
  EXPECT_THAT(values(Tensor(node, 0)), ElementsAre(1, 0, 0, 4, 5, 6));
  EXPECT_THAT(values(Tensor(node, 1)), ElementsAre(6, 10));
}

TEST(ReluGradSum, SumsOf16BitsAreF32) {
  Graph graph;
  Tensor x = cast(floats(graph, {300, 1}, std::vector<float>(300, 1)), DType::bf16);
  Node& node = apply(relu_grad_sum_op, {x, x});
  EXPECT_EQ(node.output(1), (TensorType{{1}, DType::f32}));
  EXPECT_THAT(values(Tensor(node, 1)), ElementsAre(300));  // bf16 would end at 256
}

}  // namespace
}  // namespace belfry::testing
