#include <gtest/gtest.h>

#include "../../base/error_of.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry {
namespace {

TEST(ReluGradSum, HandComputed) {
  Graph graph;
  Tensor dy = constant(graph, Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {3, 2})),
         y = constant(graph, Array::of({0.5f, 0.0f, -1.0f, 1.0f, 2.0f, 3.0f}, {3, 2}));
  Node& node = apply(relu_grad_sum_op, {dy, y});
  std::vector<Array> got = evaluate(std::vector{Tensor(node, 0), Tensor(node, 1)});
  EXPECT_TRUE(identical(got[0], Array::of({1.0f, 0.0f, 0.0f, 4.0f, 5.0f, 6.0f}, {3, 2})));
  EXPECT_TRUE(identical(got[1], Array::of({6.0f, 10.0f})));
}

TEST(ReluGradSum, SumsOf16BitsAreF32) {
  Graph graph;
  Array ones(Shape{300, 1}, DType::bf16);
  for (BFloat16& x : ones.span<BFloat16>()) x = BFloat16(1.0f);
  Tensor x = constant(graph, ones);
  Node& node = apply(relu_grad_sum_op, {x, x});
  EXPECT_EQ(node.output(1), (TensorType{{1}, DType::f32}));
  EXPECT_EQ(evaluate(std::vector{Tensor(node, 1)})[0].at(0), 300);  // bf16 would end at 256
}

}  // namespace
}  // namespace belfry
