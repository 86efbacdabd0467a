// Covers the metrics of metrics.h but for auc() and auc_pr(), and metric_support.cpp.
#include "belfry/framework/layers/metrics/metrics.h"

#include "../metric_streams.h"

namespace belfry::testing {
namespace {

TEST(MeanMetric, WeighsValues) {
  Array x = Array::of({1.0f, 2.0f, 4.5f}), w = Array::of({1.0f, 0.0f, 3.0f});
  EXPECT_EQ(streamed([](In in) { return mean_metric(in[0]); }, {x}).item(), 2.5);
  EXPECT_EQ(streamed([](In in) { return mean_metric(in[0], in[1]); }, {x, w}).item(), 3.625);
  Array pixels = Array::of({1.0f, 3.0f, 5.0f, 7.0f}, {2, 2});
  EXPECT_EQ(
      streamed([](In in) { return mean_metric(in[0], in[1]); }, {pixels, Array::of({1, 3})}).item(),
      5);
}

TEST(MeanMetric, OfNothingIsZero) {
  EXPECT_EQ(streamed([](In in) { return mean_metric(in[0]); }, {Array::zeros({0})}).item(), 0);
  EXPECT_EQ(streamed([](In in) { return mean_metric(in[0], in[0]); }, {Array::zeros({3})}).item(),
            0);
}

TEST(ErrorMetrics, AreMeansOverElements) {
  Array t = Array::of({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  Array p = Array::of({1.5f, 0.0f, 3.0f, 7.0f}, {2, 2}), w = Array::of({4, 1});
  auto mse = [](In in) {
    return mean_squared_error_metric(in[0], in[1], in.size() > 2 ? in[2] : Tensor());
  };
  auto mae = [](In in) {
    return mean_absolute_error_metric(in[0], in[1], in.size() > 2 ? in[2] : Tensor());
  };
  EXPECT_EQ(streamed(mse, {t, p}).item(), 13.25 / 4);
  EXPECT_EQ(streamed(mae, {t, p}).item(), 5.5 / 4);
  EXPECT_EQ(streamed(mse, {t, p, w}).item(), (17.0 + 9) / 10);
  EXPECT_EQ(streamed(mae, {t, p, w}).item(), (10.0 + 3) / 10);
}

TEST(Accuracy, IsTheShareOfEqualClasses) {
  Array labels = Array::of({3, 1, 4, 1, 5}), digits = Array::of<std::int64_t>({3, 1, 4, 9, 2});
  auto build = [](In in) { return accuracy(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); };
  EXPECT_EQ(streamed(build, {labels, digits}).item(), 0.6);
  EXPECT_EQ(streamed(build, {labels, digits, Array::of({1.0, 0.0, 0.0, 2.0, 1.0})}).item(), 0.25);
  Array bytes = Array::of<std::uint8_t>({0, 1, 1}), bools = Array::of({false, true, false});
  EXPECT_EQ(streamed(build, {bytes, bools}).item(), 2.0 / 3);
}

TEST(SparseCategoricalAccuracy, ComparesTheLargestLogit) {
  Array logits =
      Array::of({1.0f, 5.0f, 2.0f, 0.0f, -1.0f, -2.0f, 3.0f, 3.0f, 1.0f, 1.0f, 2.0f, 9.0f}, {4, 3});
  auto build = [](In in) {
    return sparse_categorical_accuracy(in[0], in[1], in.size() > 2 ? in[2] : Tensor());
  };
  // The first of equals wins; class 7 does not exist.
  EXPECT_EQ(streamed(build, {Array::of({1, 2, 0, 7}), logits}).item(), 0.5);
  EXPECT_EQ(streamed(build, {Array::of({1, 0, 1, 2}), logits, Array::of({1, 1, 6, 0})}).item(),
            0.25);
}

TEST(TopKAccuracy, CountsLogitsAhead) {
  Array logits = Array::of({1.0f, 5.0f, 3.0f, 4.0f}, {1, 4});
  auto at = [&](int label, std::int64_t k) {
    return streamed([k](In in) { return top_k_accuracy(in[0], in[1], {.k = k}); },
                    {Array::of({label}), logits})
        .item();
  };
  EXPECT_EQ(at(1, 1), 1);
  EXPECT_EQ(at(3, 1), 0);
  EXPECT_EQ(at(3, 2), 1);
  EXPECT_EQ(at(2, 2), 0);
  EXPECT_EQ(at(2, 3), 1);
  EXPECT_EQ(at(0, 4), 1);
  EXPECT_EQ(at(4, 4), 0);  // no such class
  EXPECT_EQ(at(-1, 4), 0);
}

TEST(TopKAccuracy, ALabelThatIsNoClassIsWrongWhateverTheLogits) {
  Array logits = Array::of({-1.0f, -2.0f, -1.0f, -2.0f}, {2, 2});
  EXPECT_EQ(streamed([](In in) { return top_k_accuracy(in[0], in[1], {.k = 2}); },
                     {Array::of({2, 0}), logits})
                .item(),
            0.5);
}

TEST(TopKAccuracy, TiesCountForTheLabelAndNanAgainstIt) {
  const float nan = NAN, inf = INFINITY;
  Array logits = Array::of({1.0f, 2.0f, 2.0f,  // label 2 ties with 1
                            nan, 2.0f, 3.0f,   // the label's own logit is no number
                            1.0f, nan, 0.0f,   // another is none
                            -inf, -inf, 0.0f,  // minus infinity is a number
                            -1.0f, -2.0f, -3.0f},
                           {5, 3});
  auto build = [](In in) { return top_k_accuracy(in[0], in[1], {.k = 1, .weights = in[2]}); };
  auto only = [&](int row) {
    std::vector<double> w(5);
    w[static_cast<std::size_t>(row)] = 1;
    return streamed(build, {Array::of({2, 0, 0, 2, 0}), logits,
                            Array::of(std::span<const double>(w), {5})})
        .item();
  };
  EXPECT_EQ(only(0), 1);
  EXPECT_EQ(only(1), 0);
  EXPECT_EQ(only(2), 0);
  EXPECT_EQ(only(3), 1);
  EXPECT_EQ(only(4), 1);
}

// Two true positives, one false positive, two false negatives, one true negative.
const Array truth = Array::of({1, 0, 1, 1, 1, 0});
const Array chance = Array::of({0.9f, 0.8f, 0.2f, 0.6f, 0.1f, 0.5f});

TEST(BinaryMetrics, ByHand) {
  EXPECT_EQ(streamed([](In in) { return binary_accuracy(in[0], in[1]); }, {truth, chance}).item(),
            0.5);
  EXPECT_EQ(streamed([](In in) { return precision(in[0], in[1]); }, {truth, chance}).item(),
            2.0 / 3);
  EXPECT_EQ(streamed([](In in) { return recall(in[0], in[1]); }, {truth, chance}).item(), 0.5);
}

TEST(BinaryMetrics, WithThresholdAndWeights) {
  Array w = Array::of({1.0f, 2.0f, 0.5f, 4.0f, 0.0f, 0.5f});
  auto with = [](auto metric) {
    return [metric](In in) {
      return metric(in[0], in[1], BinaryMetricOptions{.threshold = 0.15, .weights = in[2]});
    };
  };
  // Positive: all but the fifth. True 1 + 0.5 + 4, false 2 + 0.5; the missed one weighs nothing.
  EXPECT_EQ(streamed(with(binary_accuracy), {truth, chance, w}).item(), 5.5 / 8);
  EXPECT_EQ(streamed(with(precision), {truth, chance, w}).item(), 5.5 / 8);
  EXPECT_EQ(streamed(with(recall), {truth, chance, w}).item(), 1);
}

TEST(BinaryMetrics, NothingOverNothingIsZero) {
  Array none = Array::zeros({2}), labels = Array::of({false, false});
  EXPECT_EQ(streamed([](In in) { return precision(in[0], in[1]); }, {labels, none}).item(), 0);
  EXPECT_EQ(streamed([](In in) { return recall(in[0], in[1]); }, {labels, none}).item(), 0);
}

const Array classes = Array::of({0, 0, 1, 2, 2, 2, 255, 1});
const Array guesses = Array::of<std::int64_t>({0, 1, 1, 2, 2, 0, 1, -1});

TEST(ConfusionMatrix, CountsPairsAndLeavesUnknownClassesOut) {
  Array m = streamed([](In in) { return confusion_matrix(in[0], in[1], {.classes = 3}); },
                     {classes, guesses});
  EXPECT_EQ(m.shape(), (Shape{3, 3}));
  EXPECT_THAT(numbers(m), ElementsAre(1, 1, 0, 0, 1, 0, 1, 0, 2));
}

TEST(ConfusionMatrix, AddsWeights) {
  Array w = Array::of({0.5f, 1.0f, 2.0f, 4.0f, 0.25f, 3.0f, 9.0f, 9.0f});
  Array m = streamed(
      [](In in) { return confusion_matrix(in[0], in[1], {.classes = 3, .weights = in[2]}); },
      {classes, guesses, w});
  EXPECT_THAT(numbers(m), ElementsAre(0.5, 1, 0, 0, 2, 0, 3, 0, 4.25));
}

TEST(MeanIou, IsTheMeanOverTheClassesThatOccur) {
  auto build = [](In in) { return mean_iou(in[0], in[1], {.classes = 3}); };
  EXPECT_DOUBLE_EQ(streamed(build, {classes, guesses}).item(), (1.0 / 3 + 1.0 / 2 + 2.0 / 3) / 3);
  auto five = [](In in) { return mean_iou(in[0], in[1], {.classes = 5}); };
  EXPECT_DOUBLE_EQ(streamed(five, {classes, guesses}).item(), (1.0 / 3 + 1.0 / 2 + 2.0 / 3) / 3);
  Array masks = Array::of<std::uint8_t>({0, 1, 1, 1}, {2, 1, 2});
  Array found = Array::of<std::int64_t>({0, 1, 0, 1}, {2, 1, 2});
  EXPECT_DOUBLE_EQ(streamed(build, {masks, found}).item(), (1.0 / 2 + 2.0 / 3) / 2);
  EXPECT_EQ(streamed(build, {Array::of({7, 8}), Array::of({7, 8})}).item(), 0);
}

TEST(Metrics, ErrorsSayWhat) {
  Graph graph;
  auto of = [&](const char* name, const Shape& shape, DType dtype) {
    return graph.find_input(name) ? Tensor(*graph.find_input(name))
                                  : input(graph, name, {shape, dtype});
  };
  Tensor labels = of("labels", {4}, DType::i64), p = of("p", {4}, DType::f32);
  Tensor column = of("column", {4, 1}, DType::f32), logits = of("logits", {4, 3}, DType::f32);
  EXPECT_EQ(error_of([&] { accuracy(labels, p); }),
            "accuracy: labels i64[4] and predictions f32[4] cannot be compared; predictions are "
            "classes, such as argmax(logits, 1)");
  EXPECT_EQ(error_of([&] { accuracy(labels, of("three", {3}, DType::i64)); }),
            "accuracy: labels i64[4] and predictions i64[3] differ in shape; reshape one of them");
  EXPECT_EQ(
      error_of([&] {
        accuracy(labels, of("scores", {4, 3}, DType::i64));
      }),
      "accuracy: labels i64[4] and predictions i64[4, 3] differ in shape; of logits, take the "
      "classes: argmax(logits, -1)");
  EXPECT_EQ(error_of([&] { precision(labels, column); }),
            "precision: labels i64[4] and probabilities f32[4, 1] differ in shape; reshape one of "
            "them");
  EXPECT_EQ(error_of([&] { recall(p, labels); }),
            "recall: probabilities must be floating, got i64[4]");
  EXPECT_EQ(error_of([&] { sparse_categorical_accuracy(p, logits); }),
            "sparse_categorical_accuracy: labels must be integers, got f32[4]");
  EXPECT_EQ(error_of([&] { sparse_categorical_accuracy(of("three", {}, {}), logits); }),
            "sparse_categorical_accuracy: labels must be [4], one for each row of logits "
            "f32[4, 3], got i64[3]");
  EXPECT_EQ(error_of([&] { top_k_accuracy(labels, logits, {.k = 4}); }),
            "top_k_accuracy: k must be in 1..3, got 4");
  EXPECT_EQ(error_of([&] { top_k_accuracy(labels, labels); }),
            "top_k_accuracy: logits must be floating [..., classes] with at least one class, got "
            "i64[4]");
  EXPECT_EQ(error_of([&] { auc(labels, p, {.thresholds = 1}); }),
            "auc: thresholds must be at least 2, got 1");
  EXPECT_EQ(error_of([&] { auc_pr(labels, p, {.thresholds = 1}); }),
            "auc_pr: thresholds must be at least 2, got 1");
  EXPECT_EQ(error_of([&] { auc(labels, labels); }),
            "auc: probabilities must be floating, got i64[4]");
  EXPECT_EQ(error_of([&] { pr_curve(labels, p, {.thresholds = 1}); }),
            "pr_curve: thresholds must be at least 2, got 1");
  EXPECT_EQ(error_of([&] { pr_curve(labels, column); }),
            "pr_curve: labels i64[4] and probabilities f32[4, 1] differ in shape; reshape one of "
            "them");
  EXPECT_EQ(error_of([&] { confusion_matrix(labels, labels, {.classes = 0}); }),
            "confusion_matrix: classes must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { mean_iou(labels, p, {.classes = 3}); }),
            "mean_iou: labels i64[4] and predictions f32[4] must be integers; predictions are "
            "classes, such as argmax(logits, 1)");
  EXPECT_EQ(error_of([&] { mean_metric(p, column); }),
            "mean_metric: weights are f32[4, 1] but must have the shape [4] or that of its leading "
            "axes");
  EXPECT_EQ(error_of([&] { mean_squared_error_metric(p, column); }),
            "mean_squared_error_metric: targets f32[4] and predictions f32[4, 1] differ in shape; "
            "reshape one of them");
}

}  // namespace
}  // namespace belfry::testing
