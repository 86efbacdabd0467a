// Covers the losses and metrics for masks: overlap.cpp and what is made from it, focal_loss,
// weighted_sigmoid_cross_entropy, dice.
#include <cmath>

#include "../layers_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/math.h"

namespace belfry::testing {
namespace {

const double ln3 = std::log(3.0);

// Probabilities (3/4, 1/2, 1/4) and (1/2, 1/2, 1/2), [2, 3, 1].
Tensor logits(Graph& graph) { return tensor(graph, {2, 3, 1}, {ln3, 0.0, -ln3, 0.0, 0.0, 0.0}); }
// All of the first row but its last, and nothing.
Tensor targets(Graph& graph) { return tensor(graph, {2, 3, 1}, {1.0, 1.0, 0.0, 0.0, 0.0, 0.0}); }

// p t: 5/4 and 0; p: 3/2 twice; t: 2 and 0.
TEST(OverlapLosses, AreOneMinusARatioForEachExample) {
  Graph graph;
  Tensor x = logits(graph), t = targets(graph);
  EXPECT_THAT(values(dice_loss(x, t)), near_values({1 - 3.5 / 4.5, 1 - 1 / 2.5}));
  EXPECT_THAT(values(dice_loss(x, t, {.smooth = 0})), near_values({1 - 2.5 / 3.5, 1}));
  EXPECT_THAT(values(jaccard_loss(x, t)), near_values({1 - 2.25 / 3.25, 1 - 1 / 2.5}));
  // False positives 1/4 and 3/2, false negatives 3/4 and 0.
  EXPECT_THAT(values(tversky_loss(x, t, {.false_positives = 0.2, .false_negatives = 0.4})),
              near_values({1 - 2.25 / (2.25 + 0.05 + 0.3), 1 - 1 / 1.3}));
}

TEST(OverlapLosses, HalfAndHalfIsDice) {
  Graph graph;
  Tensor x = logits(graph), t = targets(graph);
  Tensor dice = dice_loss(x, t, {.smooth = 2});
  Tensor tversky =
      tversky_loss(x, t, {.false_positives = 0.5, .false_negatives = 0.5, .smooth = 1});
  EXPECT_THAT(values(dice - tversky), near_values({0, 0}));
}

// Probabilities (3/4, 1/2) and (1/4, 1/2) of two places with two channels, of which the first is
// set at the first place: both 3/4, 0; p 1, 1; t 1, 0.
TEST(OverlapLosses, ChannelsHaveLossesOfTheirOwn) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 2}, {ln3, 0.0, -ln3, 0.0});
  Tensor t = tensor(graph, {1, 2, 2}, {1.0, 0.0, 0.0, 0.0});
  constexpr auto independent = MaskChannels::independent;
  EXPECT_THAT(values(dice_loss(x, t, {.channels = independent})),
              near_values({((1 - 2.5 / 3) + (1 - 1.0 / 2)) / 2}));
  EXPECT_THAT(values(jaccard_loss(x, t, {.channels = independent})),
              near_values({((1 - 1.75 / 2.25) + (1 - 1.0 / 2)) / 2}));
  EXPECT_THAT(values(tversky_loss(x, t, {.channels = independent})),
              near_values({((1 - 1.75 / (1.75 + 0.3 * 0.25 + 0.7 * 0.25)) + (1 - 1 / 1.3)) / 2}));
}

// The softmax of (ln 3, 0) is (3/4, 1/4), that of (0, 0) is (1/2, 1/2); the classes are 0 and 1.
TEST(OverlapLosses, ExclusiveChannelsShareEachPlace) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 2}, {ln3, 0.0, 0.0, 0.0});
  Tensor t = tensor(graph, {1, 2, 2}, {1.0, 0.0, 0.0, 1.0});
  EXPECT_THAT(values(dice_loss(x, t, {.channels = MaskChannels::exclusive})),
              near_values({((1 - 2.5 / 3.25) + (1 - 2 / 2.75)) / 2}));
}

TEST(OverlapLosses, WeightsAreOfExamples) {
  Graph graph;
  Tensor weights = tensor(graph, {2}, {2.0, 0.0});
  EXPECT_THAT(values(dice_loss(logits(graph), targets(graph), {.weights = weights})),
              near_values({2 - 2 * 3.5 / 4.5, 0}));
}

TEST(OverlapLosses, MasksOfAnotherSizeAreRefused) {
  Graph graph;
  Tensor other = tensor(graph, {2, 2, 1}, {0.0, 0.0, 0.0, 0.0});
  EXPECT_THAT(error_of([&] { dice_loss(logits(graph), other); }), HasSubstr("dice_loss"));
  EXPECT_THAT(error_of([&] { jaccard_loss(logits(graph), targets(graph), {.smooth = -1}); }),
              HasSubstr("jaccard_loss: smooth must be at least 0, got -1"));
  EXPECT_THAT(
      error_of([&] { tversky_loss(logits(graph), targets(graph), {.false_positives = -1}); }),
      HasSubstr("at least 0"));
}

TEST(FocalLoss, WhatIsRightCountsLess) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {ln3, -ln3}), t = tensor(graph, {1, 2}, {1.0, 1.0});
  // -log p is log(4/3) and log 4; (1 - p)^2 is 1/16 and 9/16.
  double easy = 0.25 / 16 * std::log(4 / 3.0), hard = 0.25 * 9 / 16 * std::log(4.0);
  EXPECT_THAT(values(focal_loss(x, t)), near_values({(easy + hard) / 2}));
  EXPECT_THAT(values(focal_loss(-x, 1 - t, {.alpha = 0.75})), near_values({(easy + hard) / 2}));
}

TEST(FocalLoss, IsCrossEntropyWithoutFocus) {
  Graph graph;
  Tensor x = logits(graph), t = targets(graph);
  EXPECT_THAT(
      values(focal_loss(x, t, {.gamma = 0, .alpha = 0.5}) * 2 - sigmoid_cross_entropy(x, t)),
      near_values({0, 0}));
}

TEST(FocalLoss, HugeLogitsStayFinite) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {1000.0, -1000.0}), t = tensor(graph, {1, 2}, {0.0, 0.0});
  EXPECT_THAT(values(focal_loss(x, t)), near_values({0.75 * 1000 / 2}));
}

TEST(WeightedSigmoidCrossEntropy, WeighsWhatIsSet) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {ln3, ln3}), t = tensor(graph, {1, 2}, {1.0, 0.0});
  EXPECT_THAT(values(weighted_sigmoid_cross_entropy(x, t, {.positive_weight = {5}})),
              near_values({(5 * std::log(4 / 3.0) + std::log(4.0)) / 2}));
}

TEST(WeightedSigmoidCrossEntropy, ChannelsMayHaveWeightsOfTheirOwn) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {ln3, ln3}), t = tensor(graph, {1, 2}, {1.0, 1.0});
  EXPECT_THAT(values(weighted_sigmoid_cross_entropy(x, t, {.positive_weight = {5, 2}})),
              near_values({7 * std::log(4 / 3.0) / 2}));
  EXPECT_THAT(error_of([&] {
                weighted_sigmoid_cross_entropy(x, t, {.positive_weight = {1, 1, 1}});
              }),
              HasSubstr("there are 3 positive weights for logits f64[1, 2]; give one, or"));
  EXPECT_THAT(error_of([&] { weighted_sigmoid_cross_entropy(x, t, {.positive_weight = {-1}}); }),
              HasSubstr("a positive weight must be at least 0, got -1"));
}

// 2 right, 1 and 1 wrong.
TEST(DiceMetric, IsTheOverlapOfTheWholeDataSet) {
  Graph graph;
  Metric metric = dice(tensor(graph, {2, 3}, {1, 1, 1, 0, 0, 0}),
                       tensor(graph, {2, 3}, {0.9f, 0.6f, 0.5f, 0.7f, 0.1f, 0.2f}));
  std::vector<double> state = values(metric.state);
  EXPECT_DOUBLE_EQ(metric.value(state).item(), 4.0 / 6);
  EXPECT_EQ(metric.value(std::vector<double>(state.size(), 0)).item(), 0);
}

}  // namespace
}  // namespace belfry::testing
