// Covers the losses of losses.h, loss_support.cpp and weighting.
#include "belfry/framework/layers/losses/losses.h"

#include <cmath>

#include "../layers_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry::testing {
namespace {

const double ln2 = std::log(2.0);

// Logits whose softmax is (1/8, 2/8, 5/8) and (1/2, 1/4, 1/4).
Tensor logits(Graph& graph) {
  return tensor(graph, {2, 3}, {0.0, ln2, std::log(5.0), ln2, 0.0, 0.0});
}

TEST(SparseSoftmaxCrossEntropy, IsMinusTheLogOfTheLabelsProbability) {
  for (DType type : {DType::i32, DType::i64}) {
    Graph graph;
    Tensor labels = constant(graph, Array::of({2, 0}).cast(type));
    EXPECT_THAT(values(sparse_softmax_cross_entropy(logits(graph), labels)),
                near_values({std::log(1.6), ln2}));
  }
}

TEST(SparseSoftmaxCrossEntropy, SmoothingSpreadsTheTarget) {
  Graph graph;
  Tensor loss = sparse_softmax_cross_entropy(logits(graph), tensor(graph, {2}, {2, 0}),
                                             {.label_smoothing = 0.75});
  // Targets (1/4, 1/4, 1/2) and (1/2, 1/4, 1/4).
  EXPECT_THAT(values(loss), near_values({(3 * ln2 + 2 * ln2 + 2 * std::log(1.6)) / 4,
                                         (2 * ln2 + 2 * ln2 + 2 * ln2) / 4}));
}

TEST(SparseSoftmaxCrossEntropy, WeightsMultiply) {
  Graph graph;
  Tensor loss = sparse_softmax_cross_entropy(logits(graph), tensor(graph, {2}, {1, 0}),
                                             {.weights = tensor(graph, {2}, {0, 3})});
  EXPECT_THAT(values(loss), near_values({0, 3 * ln2}));
}

TEST(SparseSoftmaxCrossEntropy, LabelsOfAnyShapeGiveLossesOfThatShape) {
  Graph graph;
  Tensor x = tensor(graph, {1, 1, 2, 3}, {0.0, ln2, std::log(5.0), ln2, 0.0, 0.0});
  Tensor labels = tensor(graph, {1, 1, 2}, {0, 1});
  Tensor loss = sparse_softmax_cross_entropy(x, labels);
  EXPECT_EQ(loss.shape(), (Shape{1, 1, 2}));
  EXPECT_THAT(values(loss), near_values({3 * ln2, 2 * ln2}));
  Tensor weighted =
      sparse_softmax_cross_entropy(x, labels, {.weights = tensor(graph, {1}, {2.0f})});
  EXPECT_THAT(values(weighted), near_values({6 * ln2, 4 * ln2}));
  Tensor masked =
      sparse_softmax_cross_entropy(x, labels, {.weights = tensor(graph, {1, 1, 2}, {false, true})});
  EXPECT_THAT(values(masked), near_values({0, 2 * ln2}));
  Tensor single =
      sparse_softmax_cross_entropy(tensor(graph, {2}, {0.0, ln2}), constant(graph, 1, DType::i64));
  EXPECT_EQ(single.rank(), 0);
  EXPECT_THAT(values(single), near_values({std::log(1.5)}));
}

TEST(SparseSoftmaxCrossEntropy, ErrorsSayWhat) {
  Graph graph;
  Tensor x = logits(graph), labels = tensor(graph, {2}, {2, 0});
  EXPECT_EQ(error_of([&] {
              sparse_softmax_cross_entropy(x, tensor(graph, {3}, {0, 1, 2}));
            }),
            "sparse_softmax_cross_entropy: labels must be [2], one for each row of logits "
            "f64[2, 3], got i32[3]");
  EXPECT_EQ(error_of([&] {
              sparse_softmax_cross_entropy(x, reshape(labels, Shape{2, 1}));
            }),
            "sparse_softmax_cross_entropy: labels must be [2], one for each row of logits "
            "f64[2, 3], got i32[2, 1]; reshape(labels, {-1}) drops the last axis");
  EXPECT_EQ(error_of([&] { sparse_softmax_cross_entropy(constant(graph, 1, DType::f32), labels); }),
            "sparse_softmax_cross_entropy: logits must be [..., classes] with at least one class, "
            "got f32[]");
  EXPECT_EQ(error_of([&] { sparse_softmax_cross_entropy(x, labels, {.label_smoothing = 1.5}); }),
            "sparse_softmax_cross_entropy: label_smoothing must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([&] {
              sparse_softmax_cross_entropy(x, labels, {.weights = tensor(graph, {3}, {1, 1, 1})});
            }),
            "sparse_softmax_cross_entropy: weights are i32[3] but must have the shape [2] or that "
            "of its leading axes");
  Tensor wrong = sparse_softmax_cross_entropy(x, tensor(graph, {2}, {0, 3}));
  EXPECT_THAT(error_of([&] { values(wrong); }), HasSubstr("label 3 at row 1 is outside 0..2"));
}

TEST(SoftmaxCrossEntropy, IsTheCrossEntropyOfTheTarget) {
  Graph graph;
  Tensor targets = tensor(graph, {2, 3}, {0.0, 0.0, 1.0, 0.5, 0.25, 0.25});
  EXPECT_THAT(values(softmax_cross_entropy(logits(graph), targets)),
              near_values({std::log(1.6), ln2 / 2 + 2 * ln2 / 4 + 2 * ln2 / 4}));
  // (1/4, 1/4, 1/2) and (3/8, 5/16, 5/16).
  EXPECT_THAT(
      values(softmax_cross_entropy(
          logits(graph), targets,
          {.label_smoothing = 0.75, .weights = tensor(graph, {2}, {1.0, 2.0})})),
      near_values({(5 * ln2 + 2 * std::log(1.6)) / 4, 2 * (ln2 * 0.375 + 2 * ln2 * 0.3125 * 2)}));
}

TEST(SigmoidCrossEntropy, IsTheMeanOverTheLabelsOfAnExample) {
  Graph graph;
  // sigmoid(ln 3) = 3/4; sigmoid(0) = 1/2.
  Tensor x = tensor(graph, {2, 2}, {std::log(3.0), 0.0, std::log(3.0), -std::log(3.0)});
  Tensor t = tensor(graph, {2, 2}, {1.0, 0.0, 0.0, 0.0});
  double hit = std::log(4 / 3.0), miss = std::log(4.0);
  EXPECT_THAT(values(sigmoid_cross_entropy(x, t)),
              near_values({(hit + ln2) / 2, (miss + hit) / 2}));
  // Targets 3/4, 1/4, 1/4, 1/4.
  EXPECT_THAT(values(sigmoid_cross_entropy(x, t, {.label_smoothing = 0.5})),
              near_values({((3 * hit + miss) / 4 + ln2) / 2,
                           ((hit + 3 * miss) / 4 + (3 * hit + miss) / 4) / 2}));
  EXPECT_THAT(values(sigmoid_cross_entropy(x, t, {.weights = tensor(graph, {2}, {0.0f, 2.0f})})),
              near_values({0, miss + hit}));
}

TEST(SigmoidCrossEntropy, NeitherOverflowsNorCancels) {
  Graph graph;
  Tensor x = tensor(graph, {4}, {1000.0f, -1000.0f, 30.0f, -30.0f});
  Tensor t = tensor(graph, {4}, {0.0f, 1.0f, 1.0f, 0.0f});
  auto loss = values(sigmoid_cross_entropy(x, t));
  EXPECT_EQ(loss[0], 1000);
  EXPECT_EQ(loss[1], 1000);
  EXPECT_FLOAT_EQ(static_cast<float>(loss[2]), std::exp(-30.0f));
  EXPECT_FLOAT_EQ(static_cast<float>(loss[3]), std::exp(-30.0f));
}

TEST(SigmoidCrossEntropy, TheGradientIsProbabilityMinusTargetAlsoAtZero) {
  Graph graph;
  Tensor x = tensor(graph, {3}, {0.0, 0.0, std::log(3.0)});
  Tensor t = tensor(graph, {3}, {0.0, 1.0, 0.5});
  Tensor loss = sum(sigmoid_cross_entropy(x, t));
  EXPECT_THAT(values(gradients(loss, std::vector{x})[0]), near_values({0.5, -0.5, 0.25}));
}

TEST(RegressionLosses, AreMeansOverAllAxesButTheFirst) {
  Graph graph;
  Tensor p = tensor(graph, {2, 1, 2}, {1.0f, 2.0f, 3.0f, -4.0f});
  Tensor t = tensor(graph, {2, 1, 2}, {1.5f, 4.0f, 3.0f, 2.0f});
  Tensor w = tensor(graph, {2}, {2, 3});
  EXPECT_THAT(values(mean_squared_error(p, t)), ElementsAre(2.125, 18));
  EXPECT_THAT(values(mean_absolute_error(p, t)), ElementsAre(1.25, 3));
  // Errors 0.5, 2, 0, 6 with delta 1: 0.125, 1.5, 0, 5.5; with delta 4: 0.125, 2, 0, 16.
  EXPECT_THAT(values(huber(p, t)), ElementsAre(0.8125, 2.75));
  EXPECT_THAT(values(huber(p, t, {.delta = 4})), ElementsAre(1.0625, 8));
  EXPECT_THAT(values(mean_squared_error(p, t, {.weights = w})), ElementsAre(4.25, 54));
  EXPECT_THAT(values(mean_absolute_error(p, t, {.weights = w})), ElementsAre(2.5, 9));
  EXPECT_THAT(values(huber(p, t, {.weights = w})), ElementsAre(1.625, 8.25));
}

TEST(RegressionLosses, OfVectorsAreThoseOfEachElement) {
  Graph graph;
  Tensor p = tensor(graph, {2}, {1.0, 2.0}), t = tensor(graph, {2}, {4.0, 2.0});
  EXPECT_THAT(values(mean_squared_error(p, t)), ElementsAre(9, 0));
  EXPECT_EQ(mean_squared_error(p, t).shape(), Shape{2});
}

// Plus the mean of log(count!), 0.8283, the second is 1.857: -log of the Poisson probabilities.
TEST(PoissonLoss, IsTheRateMinusItsLogarithmTimesTheCount) {
  Graph graph;
  Tensor x = tensor(graph, {2, 2}, {0.0, ln2, std::log(5.0), -ln2});
  Tensor t = tensor(graph, {2, 2}, {7.0, 3.0, 0.0, 2.0});
  EXPECT_THAT(values(poisson_loss(x, t)), near_values({(3 - 3 * ln2) / 2, (5.5 + 2 * ln2) / 2}));
  Tensor rates = tensor(graph, {1, 3}, {0.0, -1.0, 1.0});
  Tensor counts = tensor(graph, {1, 3}, {1.0, 2.0, 3.0});
  EXPECT_THAT(values(poisson_loss(rates, counts)),
              near_values({1.8570226398 - (std::log(2.0) + std::log(6.0)) / 3}));
  EXPECT_THAT(values(poisson_loss(x, t, {.weights = tensor(graph, {2}, {0, 2})})),
              near_values({0, 5.5 + 2 * ln2}));
}

TEST(Hinge, IsZeroBeyondTheMargin) {
  Graph graph;
  Tensor x = tensor(graph, {3, 2}, {2.0f, -2.0f, 0.25f, 0.25f, 0.0f, 3.0f});
  Tensor t = tensor(graph, {3, 2}, {1.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f});
  EXPECT_THAT(values(hinge(x, t)), ElementsAre(0, 1, 2.5));
  EXPECT_THAT(values(hinge(x, t, {.weights = tensor(graph, {3}, {1, 2, 0})})),
              ElementsAre(0, 2, 0));
}

TEST(Losses, NothingIsBroadcastOrPromoted) {
  Graph graph;
  Tensor p = tensor(graph, {2}, {1.0f, 2.0f});
  auto error = [&](Tensor t) { return error_of([&] { mean_squared_error(p, t); }); };
  EXPECT_EQ(error(tensor(graph, {2, 1}, {1.0f, 2.0f})),
            "mean_squared_error: predictions f32[2] and targets f32[2, 1] differ in shape; reshape "
            "one of them");
  EXPECT_EQ(error(tensor(graph, {2}, {1.0, 2.0})),
            "mean_squared_error: predictions f32[2] and targets f64[2] have different dtypes; cast "
            "one of them");
  EXPECT_EQ(error_of([&] {
              Tensor n = tensor(graph, {2}, {1, 2});
              huber(n, n);
            }),
            "huber: predictions must be of a floating type, got i32[2]");
  EXPECT_EQ(error_of([&] {
              Tensor n = constant(graph, 1, DType::f32);
              hinge(n, n);
            }),
            "hinge: predictions must have at least 1 axes, got f32[]");
  EXPECT_EQ(error_of([&] { huber(p, p, {.delta = 0}); }), "huber: delta must be positive, got 0");
  EXPECT_THAT(error_of([&] { mean_absolute_error(p, constant(graph, 1, DType::f32)); }),
              HasSubstr("mean_absolute_error: predictions f32[2] and targets f32[]"));
  EXPECT_THAT(error_of([&] { sigmoid_cross_entropy(p, p, {.label_smoothing = -1}); }),
              HasSubstr("sigmoid_cross_entropy: label_smoothing must be in [0, 1], got -1"));
  EXPECT_THAT(error_of([&] { softmax_cross_entropy(p, tensor(graph, {1}, {1.0f})); }),
              HasSubstr("softmax_cross_entropy: predictions f32[2] and targets f32[1]"));
  EXPECT_THAT(error_of([&] {
                hinge(p, p, {.weights = tensor(graph, {2, 1}, {1, 1})});
              }),
              HasSubstr("hinge: weights are i32[2, 1] but must have the shape [2]"));
}

TEST(Losses, TakeAnEmptyBatch) {
  Graph graph;
  Tensor p = constant(graph, Array::zeros({0, 3}));
  EXPECT_TRUE(values(mean_squared_error(p, p)).empty());
  EXPECT_TRUE(values(softmax_cross_entropy(p, p)).empty());
  EXPECT_TRUE(
      values(sparse_softmax_cross_entropy(p, constant(graph, Array::zeros({0}, DType::i64))))
          .empty());
}

TEST(Losses, GradientsAgreeWithDifferences) {
  using In = std::span<const Tensor>;
  auto check = [](std::function<Tensor(In)> loss, std::vector<Array> inputs) {
    return check_op({.build = [&](const Scope&, In in) { return std::vector{loss(in)}; },
                     .inputs = std::move(inputs)});
  };
  Array x = noise({5, 3}, 1), t = noise({5, 3}, 2);
  Array labels = Array::of<std::int64_t>({0, 2, 1, 1, 0}), w = noise({5}, 3);
  EXPECT_EQ(check(
                [](In in) {
                  return sparse_softmax_cross_entropy(in[0], in[1],
                                                      {.label_smoothing = 0.1, .weights = in[2]});
                },
                {x, labels, w}),
            "");
  EXPECT_EQ(check(
                [](In in) {
                  return softmax_cross_entropy(in[0], in[1],
                                               {.label_smoothing = 0.1, .weights = in[2]});
                },
                {x, t, w}),
            "");
  EXPECT_EQ(check([](In in) { return sigmoid_cross_entropy(in[0], in[1], {.weights = in[2]}); },
                  {x, t, w}),
            "");
  EXPECT_EQ(check([](In in) { return mean_squared_error(in[0], in[1]); }, {x, t}), "");
  EXPECT_EQ(check([](In in) { return mean_absolute_error(in[0], in[1]); }, {x, t}), "");
  EXPECT_EQ(check([](In in) { return huber(in[0], in[1], {.delta = 0.7}); }, {x, t}), "");
  EXPECT_EQ(check([](In in) { return hinge(in[0], in[1]); }, {x, t}), "");
  EXPECT_EQ(check([](In in) { return poisson_loss(in[0], in[1]); }, {x, t}), "");
  for (Reduction r : {Reduction::none, Reduction::sum, Reduction::mean, Reduction::weighted_mean})
    EXPECT_EQ(check([r](In in) { return reduce_loss(in[0], r, in[1]); }, {x, w}), "")
        << to_string(r);
}

}  // namespace
}  // namespace belfry::testing
