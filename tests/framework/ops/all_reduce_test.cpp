#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/runtime/check_op.h"

namespace belfry {
namespace {

Array some(const Shape& shape, float first) {
  Array a(shape, DType::f32);
  for (float& x : a.span<float>()) x = first, first = -first * 1.25f;
  return a;
}

// The reduction over one tower is the identity, whose gradient is that of its output.
TEST(AllReduce, OfOneTowerIsTheIdentity) {
  EXPECT_EQ(check_op({.build =
                          [](const Scope&, std::span<const Tensor> in) {
                            return outputs_of(
                                apply(all_reduce_op, {in[0], in[1]}, AllReduceOptions{"bucket"}));
                          },
                      .inputs = {some({2, 3}, 0.5f), some({4}, -1)}}),
            "");
}

TEST(AllReduce, MakesNoNodeForOneTower) {
  Graph graph;
  Tensor x = input(graph, "x", {{2}, DType::f32});
  EXPECT_EQ(tower_sum(x), x);
  EXPECT_EQ(tower_mean(x), x);
  EXPECT_EQ(graph.size(), 1u);
}

TEST(AllReduce, IsOneNodeForSeveralTensors) {
  Graph graph(3);
  Tensor x = input(graph, "x", {{2}, DType::f32}), y = input(graph, "y", {{}, DType::f32});
  std::vector<Tensor> sums = tower_sum({x, y}, "both");
  EXPECT_EQ(&sums[0].node(), &sums[1].node());
  EXPECT_EQ(sums[1].type(), y.type());
  EXPECT_EQ(sums[0].node().as<AllReduceOptions>().name, "both");
}

TEST(AllReduce, TypesMustAgreeAndAdd) {
  Graph graph(2);
  auto error_of = [&](DType a, DType b) -> std::string {
    try {
      tower_sum({input(graph, to_string(a), {{2}, a}), input(graph, to_string(b) + "2", {{2}, b})});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(DType::f32, DType::i64),
            "all_reduce: expected tensors of one floating or signed type, got f32[2], i64[2]");
  EXPECT_EQ(error_of(DType::u8, DType::u8),
            "all_reduce: expected tensors of one floating or signed type, got u8[2], u8[2]");
}

}  // namespace
}  // namespace belfry
