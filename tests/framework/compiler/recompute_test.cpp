// The values that a program computes again, tested on graphs whose memory can be counted by hand.

#include <algorithm>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/step_values.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/transfer.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t unit = 1 << 16;  // bytes of every large value

class Recompute : public ::testing::Test {
 protected:
  // Ops of this scope while it lives: else they are of the scope of what they read.
  Graph::PlacementGuard in(const std::string& scope, int device = 0) {
    Scope s(graph);
    for (std::size_t at = 0; at < scope.size();) {
      std::size_t end = std::min(scope.find('/', at), scope.size());
      s = s / scope.substr(at, end - at);
      at = end + 1;
    }
    return Graph::PlacementGuard(graph, s.on(device).placement());
  }
  // The names of the ops that run once more, in order.
  std::vector<std::string> again(const std::vector<Tensor>& outputs,
                                 const RecomputeOptions& options) {
    program = recompute(program_of(outputs), options, done);
    verify(program);
    std::vector<std::string> names;
    for (const auto& node : *program.graph)
      if (node->phase() == Phase::recompute) names.emplace_back(node->op().name);
    EXPECT_EQ(std::ssize(names), done.nodes);
    return names;
  }
  static std::int64_t peak(const Program& of) {
    StepValues step(of, rates_of_cpus);
    return step.estimate(step.none()).peak;
  }

  Graph graph;
  Tensor x = f32(graph, "x", {unit / 4});
  Program program;
  Recomputed done;
};

// ---- scopes and limits: exp of exp of ... x; a gradient is the one before times what exp gave

class RecomputeChain : public Recompute {
 protected:
  Tensor exps(Tensor t, const std::string& scope, int count) {
    auto guard = in(scope);
    for (int i = 0; i < count; ++i) t = exp(t);
    return t;
  }
  std::vector<Tensor> sum_and_gradient(const Tensor& y) {
    auto guard = in("loss");
    std::vector<Tensor> xs{x};
    Tensor loss = sum(y);
    return {loss, gradients(loss, xs)[0]};
  }
};

TEST_F(RecomputeChain, WhatScopesMakeForThemselves) {
  auto outputs = sum_and_gradient(exps(exps(x, "a", 3), "b", 3));
  EXPECT_THAT(again(outputs, {}), IsEmpty());
  EXPECT_EQ(done.saved_bytes, 0);
  EXPECT_EQ(peak(program), 7 * unit);  // six of the chain and a gradient
  // Kept are the last of each. At most: a3, b1, b2 and a gradient.
  EXPECT_THAT(again(outputs, {.scopes = {"a", "b"}}), ElementsAre("exp", "exp", "exp", "exp"));
  EXPECT_EQ(peak(program), 4 * unit);
  EXPECT_EQ(done.saved_bytes, 3 * unit);
  // The step moves 12 units for the chain, 18 for products, 1 to sum up and 1 for its gradient.
  EXPECT_NEAR(done.time_fraction, 8.0 / 32, 1e-3);
  EXPECT_EQ(again(outputs, {.scopes = {"b"}}).size(), 2u);
  EXPECT_EQ(again(outputs, {.scopes = {""}}).size(), 6u);
  EXPECT_THAT(again(outputs, {.scopes = {"c", "a/b", "aa"}}), IsEmpty());
}

TEST_F(RecomputeChain, TheirSubscopesToo) {
  auto outputs = sum_and_gradient(exps(exps(x, "a/first", 2), "a/second", 2));
  EXPECT_EQ(again(outputs, {.scopes = {"a"}}).size(), 3u);
  EXPECT_EQ(again(outputs, {.scopes = {"a/first", "a/second"}}).size(), 2u);
}

TEST_F(RecomputeChain, SegmentsWithinALimit) {
  auto outputs = sum_and_gradient(exps(x, "chain", 12));
  std::int64_t all = peak(program_of(outputs));
  EXPECT_EQ(all, 13 * unit);
  EXPECT_THAT(again(outputs, {.most_bytes = all}), IsEmpty());
  int before = 0;
  for (std::int64_t units : {12, 10, 8, 7, 6}) {
    again(outputs, {.most_bytes = units * unit});
    EXPECT_LE(peak(program), units * unit);
    EXPECT_EQ(done.saved_bytes, all - peak(program));
    EXPECT_GE(done.nodes, before);
    EXPECT_LE(done.nodes, 12);  // none more than once
    before = done.nodes;
  }
  EXPECT_GT(before, 0);
  // Nothing does with so little: what takes the least is chosen.
  again(outputs, {.most_bytes = 1});
  EXPECT_LE(peak(program), 6 * unit);
}

TEST_F(RecomputeChain, NotWhatTheProgramGives) {
  Tensor middle = exps(x, "a", 2);
  auto outputs = sum_and_gradient(exps(middle, "a", 2));
  outputs.push_back(middle);
  EXPECT_THAT(again(outputs, {.scopes = {"a"}}), ElementsAre("exp", "exp"));
}

// The product is computed again, of what was received: nothing is sent twice.
TEST_F(RecomputeChain, NotWhatComesFromAnotherDevice) {
  Tensor middle = exps(x, "a", 2), y;
  {
    auto guard = in("b", 1);
    y = exp(middle * middle);
    y = y * y;
  }
  Partition parts = partition(program_of(sum_and_gradient(y)), 2);
  Program there = recompute(parts.programs[1], {.scopes = {"b"}}, done);
  std::vector<std::string> again;
  int received = 0;
  for (const auto& node : *there.graph) {
    if (node->is(receive_op) && node->phase() != Phase::backward) ++received;
    if (node->phase() == Phase::recompute) again.emplace_back(node->op().name);
  }
  EXPECT_EQ(received, 1);
  EXPECT_THAT(again, ElementsAre("mul", "exp"));
}

// The gradient of exp is its result, which device 1 drops and device 0 reads in another shape.
TEST_F(RecomputeChain, WhatIsSentLateIsSent) {
  Tensor small = f32(graph, "small", {8}), h = tanh(small), y;
  {
    auto guard = in("b", 1);
    y = sum(exp(reshape(h, {2, 4})));
  }
  std::vector<Tensor> outputs{y, gradients(y, std::vector{small})[0]};
  Partition parts = partition(fold_constants(program_of(outputs)), 2);
  Program again = recompute(parts.programs[1], {.scopes = {""}}, done);
  ASSERT_EQ(parts.programs[1].effects.size(), 1u);
  ASSERT_EQ(again.effects.size(), 1u);
  EXPECT_TRUE(again.effects[0]->is(send_op));
}

TEST_F(RecomputeChain, NotWhatTheForwardPassAloneReads) {
  EXPECT_THAT(again({sum(exps(x, "a", 2))}, {.scopes = {""}}), IsEmpty());
}

TEST_F(RecomputeChain, RandomNumbersOnceMore) {
  Tensor mask = random_uniform(Scope(graph) / "mask", {unit / 4}), y;
  {
    auto guard = in("body");
    y = exp(x * mask);
  }
  auto outputs = sum_and_gradient(y);
  EXPECT_THAT(again(outputs, {.scopes = {"mask"}}), IsEmpty());  // "body" reads it
  EXPECT_THAT(again(outputs, {.scopes = {"body"}}), IsEmpty());  // "loss" reads the exp
  EXPECT_THAT(again(outputs, {.scopes = {""}}), ElementsAre("random_uniform", "mul", "exp"));
}

// ---- cheap values: convolutions of 18.9 million operations between batches of one unit

class RecomputeCheap : public Recompute {
 protected:
  Variable kernel(std::int64_t size = 3) {
    return Scope(graph).variable("k" + text(++kernels), {.shape = {size, size, 64, 64}});
  }
  Tensor block(const Tensor& t, std::int64_t size = 3) {
    return relu(norm(conv2d(t, kernel(size))));
  }
  Tensor norm(const Tensor& t) { return batch_norm_train(t, scale, offset).y; }
  // The ops that run once more for the gradients of all kernels, after batch norms were fused.
  std::vector<std::string> again_for(const Tensor& loss, const RecomputeOptions& options = {}) {
    std::vector<Tensor> xs, outputs{loss};
    for (Variable v : trainable_variables(graph)) xs.push_back(v);
    for (const Tensor& g : gradients(loss, xs)) outputs.push_back(g);
    fused = fuse_batch_norm(program_of(outputs), [](int) { return true; });
    program = recompute(fused, options, done);
    verify(program);
    std::vector<std::string> names;
    for (const Node* node : made_again()) names.emplace_back(node->op().name);
    return names;
  }
  std::vector<const Node*> made_again() const {
    std::vector<const Node*> nodes;
    for (const auto& node : *program.graph)
      if (node->phase() == Phase::recompute) nodes.push_back(node.get());
    return nodes;
  }

  int kernels = 0;
  Tensor image = f32(graph, "image", {1, 16, 16, 64});
  Tensor scale = f32(graph, "scale", {64}), offset = f32(graph, "offset", {64});
  Program fused;
};

TEST_F(RecomputeCheap, NormalisedBatchesOfTheirStatistics) {
  Tensor y = image;
  for (int i = 0; i < 3; ++i) y = block(y);
  Tensor loss = sum(conv2d(y, kernel()));
  EXPECT_THAT(again_for(loss, {.cheap = false}), IsEmpty());
  ASSERT_THAT(again_for(loss), ElementsAre("batch_norm_recompute", "batch_norm_recompute"));
  // The third block's is read first, when the others are dropped: to keep it takes nothing.
  EXPECT_EQ(done.saved_bytes, 2 * unit);
  const Node& node = *made_again()[0];
  EXPECT_EQ(node.as<BatchNormRecomputeOptions>().activation, Activation::relu);
  EXPECT_TRUE(node.input(0).node().is(conv2d_op));
  const Node& forward = node.input(3).node();
  EXPECT_TRUE(forward.is(batch_norm_train_op));
  EXPECT_EQ(node.input(3).index(), 1);  // mean
  EXPECT_EQ(node.input(4).index(), 3);  // inverse standard deviation
}

// A row of residual blocks: each is made of the one before.
TEST_F(RecomputeCheap, OneOfAnother) {
  Tensor y = block(image);
  for (int i = 0; i < 4; ++i) y = relu(norm(conv2d(y, kernel())) + y);
  again_for(sum(conv2d(y, kernel())));
  ASSERT_GE(made_again().size(), 2u);
  int of_another = 0;
  for (const Node* node : made_again())
    if (node->as<BatchNormRecomputeOptions>().residual)
      of_another += node->input(5).node().phase() == Phase::recompute;
  EXPECT_GT(of_another, 0);
}

TEST_F(RecomputeCheap, NoMoreThanTheirShareOfTheStep) {
  Tensor y = image;
  for (int i = 0; i < 3; ++i) y = block(y, 1);                 // 2.1 million operations
  EXPECT_EQ(again_for(sum(conv2d(y, kernel(1)))).size(), 1u);  // two would take 5 %
  EXPECT_LE(done.time_fraction, 0.03);
}

TEST_F(RecomputeCheap, NotWhereItSavesNothing) {
  EXPECT_THAT(again_for(sum(conv2d(block(image), kernel()))), IsEmpty());
}

TEST_F(RecomputeCheap, NotOfWhatAScopeComputesAgain) {
  Tensor y;
  {
    auto guard = in("block");
    y = relu(norm(conv2d(relu(conv2d(image, kernel())), kernel())));
  }
  auto guard = in("head");
  // The batch that leaves the block is kept: of what it is made the block keeps nothing.
  EXPECT_THAT(again_for(sum(conv2d(y, kernel())), {.scopes = {"block"}}),
              ElementsAre("conv2d", "relu", "conv2d"));
}

TEST_F(RecomputeCheap, NotSmallOnes) {
  Tensor y = f32(graph, "small", {1, 8, 8, 64});
  for (int i = 0; i < 3; ++i) y = block(y);
  EXPECT_THAT(again_for(sum(conv2d(y, kernel()))), IsEmpty());
}

TEST_F(RecomputeCheap, CastsOfInputsButNotOfVariables) {
  auto convert = [](const Tensor& t) { return cast(t, DType::bf16); };
  Tensor large = f32(graph, "large", {2, 16, 16, 64}), y = convert(large);
  y = conv2d(conv2d(y, convert(kernel())), convert(kernel()));
  EXPECT_THAT(again_for(cast(sum(conv2d(y, convert(kernel()))), DType::f32)), ElementsAre("cast"));
  EXPECT_TRUE(made_again()[0]->input(0).node().is(input_op));
}

}  // namespace
}  // namespace belfry
