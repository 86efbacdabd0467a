#include "belfry/framework/compiler/split_costs.h"

#include "split_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

using Costs = SplitTest;

// The costs of x [4, 16], two variables and results of [4, 16] and [4, 8], all of 4 bytes an
// element.
TEST_F(Costs, EachDeviceHasItsVariablesResultsAndWhatItReceives) {
  Tensor a = times(x, "a", 16);
  Tensor b = exp(a);  // computed in place
  times(b, "b", 8);
  std::vector<SplitPass> passes{pass()};
  SplitCosts costs(passes, {.devices = 2});
  constexpr std::int64_t input = 256, first = 1024, second = 512, wide = 256, narrow = 128;
  EXPECT_THAT(costs.of(std::vector{0, 0, 0}).bytes,
              ElementsAre(input + first + second + wide + narrow, 0));
  EXPECT_THAT(costs.of(std::vector{0, 0, 1}).bytes,
              ElementsAre(input + first + wide, wide + second + narrow));
  // Device 1 receives a and computes b in its place; nothing is sent there twice.
  EXPECT_THAT(costs.of(std::vector{0, 1, 1}).bytes,
              ElementsAre(input + first + wide, wide + second + narrow));
  EXPECT_EQ(costs.of(std::vector{0, 0, 0}).idle_devices, 1);
  EXPECT_EQ(costs.of(std::vector{0, 0, 1}).idle_devices, 0);
}

TEST_F(Costs, GradientsAndOptimizerSlotsCount) {
  Tensor loss = sum(exp(times(x, "w", 8)));
  std::vector<SplitPass> passes{pass()};
  passes[0].targets = {{loss, weights, 2}};
  SplitCosts costs(passes, {.devices = 1});
  // x, w and its two slots, the seed of the gradient; then da [4, 8] and dw [16, 8] at the peak,
  // where exp's result is gone.
  EXPECT_THAT(costs.of(std::vector{0, 0, 0}).bytes, ElementsAre(256 + 3 * 512 + 4 + 128 + 512));
}

// Device 0 is done with both micro-batches before device 1 begins: both wait there.
TEST_F(Costs, WhatIsSentAheadWaitsAtTheReceiver) {
  std::vector<SplitPass> passes;
  for (int i = 0; i < 2; ++i) {
    std::size_t begin = graph.size();
    sum(exp(x));
    passes.push_back({computing_nodes(graph, begin, graph.size()), {}});
  }
  SplitCosts costs(passes, {.devices = 2});
  EXPECT_THAT(costs.of(std::vector{0, 1}).bytes, ElementsAre(256 + 256, 2 * 256 + 4));
}

// A value that comes back to a device cannot be there before it has been asked for.
TEST_F(Costs, AnAnswerComesAfterTheQuestion) {
  Tensor large = f32(graph, "large", {64, 16});
  Tensor a = sum(exp(large));  // [] of 4 KiB, which are gone when a is sent
  Tensor b = broadcast_to(a, {64, 16});
  sum(b * b);
  std::vector<SplitPass> passes{pass()};
  SplitCosts costs(passes, {.devices = 2});
  // exp, sum | broadcast_to | mul, sum
  EXPECT_EQ(costs.of(std::vector{0, 0, 1, 0, 0}).bytes[0], 4096 + 4096 + 4);
}

// The pass that is the longest is what all micro-batches wait for; one alone is nowhere at once.
TEST_F(Costs, MicroBatchesShareTheTime) {
  auto seconds = [&](int count, std::vector<int> devices) {
    Graph own;
    std::vector<SplitPass> passes;
    Tensor in = f32(own, "x", {64, 64});
    for (int i = 0; i < count; ++i) {
      std::size_t begin = own.size();
      tanh(tanh(tanh(tanh(in))));
      passes.push_back({computing_nodes(own, begin, own.size()), {}});
    }
    return SplitCosts(passes, {.devices = 2}).of(devices).seconds;
  };
  double one = seconds(1, {0, 0, 0, 0});
  EXPECT_GT(seconds(1, {0, 0, 1, 1}), one);  // what crosses takes time
  EXPECT_DOUBLE_EQ(seconds(4, {0, 0, 0, 0}), 4 * one);
  EXPECT_LT(seconds(4, {0, 0, 1, 1}), 4 * one);
  EXPECT_LT(seconds(4, {0, 0, 1, 1}), seconds(4, {0, 1, 1, 1}));
}

}  // namespace
}  // namespace belfry
