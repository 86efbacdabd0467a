// Covers auc.cpp, auc_pr.cpp, pr_curve.cpp and threshold_counts.cpp.
#include <cmath>

#include "../metric_streams.h"
#include "belfry/framework/layers/metrics/metrics.h"

namespace belfry::testing {
namespace {

double auc_of(std::vector<int> labels, std::vector<float> p, int thresholds = 200) {
  Shape shape{static_cast<std::int64_t>(p.size())};
  return streamed([&](In in) { return auc(in[0], in[1], {.thresholds = thresholds}); },
                  {Array::of(std::span<const int>(labels), shape),
                   Array::of(std::span<const float>(p), shape)})
      .item();
}

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_DOUBLE_EQ(auc_of({0, 0, 1, 1}, {0.0f, 0.5f, 0.3f, 0.9f}), 0.75);
  EXPECT_DOUBLE_EQ(auc_of({0, 1, 0, 1}, {0.1f, 0.6f, 0.4f, 1.0f}), 1);
  EXPECT_DOUBLE_EQ(auc_of({1, 0}, {0.1f, 0.9f}), 0);
  EXPECT_DOUBLE_EQ(auc_of({1, 0, 0}, {0.5f, 0.5f, 0.5f}), 0.5);  // a tie is half a pair
}

TEST(Auc, FewThresholdsTellLittleApart) {
  // Above -0, 0.5 and 1 + 0: (1, 1), then recall 1/2 with no false positive, then (0, 0).
  EXPECT_DOUBLE_EQ(auc_of({0, 0, 1, 1}, {0.0f, 0.5f, 0.3f, 0.9f}, 3), 0.75);
  EXPECT_DOUBLE_EQ(auc_of({1, 0}, {0.9f, 0.8f}, 3), 0.5);
  EXPECT_DOUBLE_EQ(auc_of({1, 0}, {0.9f, 0.1f}, 2), 0.5);
}

TEST(Auc, LogitsAreRefused) {
  EXPECT_THAT(error_of([] {
                auc_of({1, 0}, {0.5f, 1.5f});
              }),
              HasSubstr("auc: the probability at row 1 is 1.5, above 1; probabilities lie in [0, "
                        "1], as sigmoid(logits) does"));
  EXPECT_THAT(error_of([] { auc_of({1, 0}, {-2.0f, 0.5f}); }), HasSubstr("row 0 is -2, below 0"));
  EXPECT_THAT(error_of([] { auc_of({1, 0}, {0.5f, NAN}); }), HasSubstr("row 1 is nan"));
  Array labels = Array::of({1, 0}), logits = Array::of({3.0f, -3.0f});
  EXPECT_THAT(error_of([&] {
                streamed([](In in) { return pr_curve(in[0], in[1]); }, {labels, logits});
              }),
              HasSubstr("pr_curve: the probability at row 0 is 3, above 1"));
  EXPECT_THAT(error_of([&] {
                streamed([](In in) { return auc_pr(in[0], in[1]); }, {labels, logits});
              }),
              HasSubstr("auc_pr: the probability at row 0 is 3, above 1"));
}

TEST(Auc, WithoutPositivesIsOneAndWithoutNegativesZero) {
  EXPECT_EQ(auc_of({0, 0}, {0.2f, 0.7f}), 1);
  EXPECT_EQ(auc_of({1, 1}, {0.2f, 0.7f}), 0);
  EXPECT_EQ(auc_of({}, {}), 0);
}

TEST(Auc, WeighsElementsOfAnyShape) {
  Array labels = Array::of({0.0f, 1.0f, 1.0f, 0.0f}, {2, 2});
  Array p = Array::of({0.5f, 0.2f, 0.8f, 0.1f}, {2, 2}), w = Array::of({1.0f, 3.0f}, {2});
  // Pairs (positive, negative) weighed: (0.2, 0.5) 1 wrong, (0.2, 0.1) 3, (0.8, 0.5) 3, (0.8, 0.1)
  // 9 right.
  Array value =
      streamed([](In in) { return auc(in[0], in[1], {.weights = in[2]}); }, {labels, p, w});
  EXPECT_DOUBLE_EQ(value.item(), 15.0 / 16);
}

double auc_pr_of(std::vector<int> labels, std::vector<float> p,
                 Summation summation = Summation::careful_interpolation) {
  Shape shape{std::ssize(p)};
  return streamed([&](In in) { return auc_pr(in[0], in[1], {.summation = summation}); },
                  {Array::of(std::span<const int>(labels), shape),
                   Array::of(std::span<const float>(p), shape)})
      .item();
}

// The data of TensorFlow's metrics_test.py, of which these are the closed forms.
TEST(AucPr, OfPublishedData) {
  double first = auc_pr_of({0, 0, 1, 1}, {0.1f, 0.4f, 0.35f, 0.8f});
  EXPECT_NEAR(first, 1 - std::log(1.5) / 2, 1e-12);
  EXPECT_NEAR(first, 0.79726744, 1e-8);
  double second = auc_pr_of({0, 0, 1, 0, 1, 0, 1}, {0.1f, 0.4f, 0.35f, 0.8f, 0.1f, 0.135f, 0.81f});
  EXPECT_NEAR(second, (2.5 - 2 * std::log(4.0 / 3) - 0.25 * std::log(7.0 / 5)) / 3, 1e-12);
  EXPECT_NEAR(second, 0.61350593, 1e-8);
  double third = auc_pr_of({0, 0, 0, 0, 1, 1, 1}, {0.0f, 0.1f, 0.2f, 0.33f, 0.3f, 0.4f, 0.5f});
  EXPECT_NEAR(third, 1 - std::log(4.0 / 3) / 3, 1e-12);
  EXPECT_NEAR(third, 0.90410598, 1e-8);
}

// Recall falls from 1 to 1/2 while precision goes from 2/3 to 1/2, and then to 0 at precision 1.
TEST(AucPr, SummationsByHand) {
  auto of = [](Summation summation) {
    return auc_pr_of({0, 0, 1, 1}, {0.1f, 0.4f, 0.35f, 0.8f}, summation);
  };
  EXPECT_DOUBLE_EQ(of(Summation::trapezoidal), 7.0 / 24 + 0.5);
  EXPECT_DOUBLE_EQ(of(Summation::minoring), 0.75);
  EXPECT_DOUBLE_EQ(of(Summation::majoring), 1.0 / 3 + 0.5);
}

TEST(AucPr, OfOneKindOfLabelAndOfNothing) {
  for (Summation s : {Summation::careful_interpolation, Summation::trapezoidal, Summation::minoring,
                      Summation::majoring}) {
    EXPECT_EQ(auc_pr_of({0, 0}, {0.2f, 0.7f}, s), 0);
    EXPECT_EQ(auc_pr_of({1, 1}, {0.2f, 0.7f}, s), 1);
    EXPECT_EQ(auc_pr_of({}, {}, s), 0);
  }
}

// The weights of copies: the negative 0.4 three times.
TEST(AucPr, WeighsElements) {
  Array labels = Array::of({0, 0, 1, 1}), p = Array::of({0.1f, 0.4f, 0.35f, 0.8f});
  Array value = streamed([](In in) { return auc_pr(in[0], in[1], {.weights = in[2]}); },
                         {labels, p, Array::of({1, 3, 1, 1})});
  EXPECT_DOUBLE_EQ(value.item(),
                   auc_pr_of({0, 0, 0, 0, 1, 1}, {0.1f, 0.4f, 0.4f, 0.4f, 0.35f, 0.8f}));
}

// Thresholds 0, 1/2, 1: the positives 0.5 and 1 and the negatives 0.25 and 0.75.
TEST(PrCurve, CountsWhatIsNotBelowAThreshold) {
  Array labels = Array::of({1, 1, 0, 0}), p = Array::of({0.5f, 1.0f, 0.25f, 0.75f});
  Array curve =
      streamed([](In in) { return pr_curve(in[0], in[1], {.thresholds = 3}); }, {labels, p});
  EXPECT_EQ(curve.shape(), (Shape{6, 3}));
  EXPECT_THAT(numbers(curve), ElementsAre(2, 2, 1,          // true positives
                                          2, 1, 0,          // false positives
                                          0, 1, 2,          // true negatives
                                          0, 0, 1,          // false negatives
                                          0.5, 2.0 / 3, 1,  // precision
                                          1, 1, 0.5));      // recall
}

TEST(PrCurve, AddsWeights) {
  Array labels = Array::of({1, 0, 0}), p = Array::of({0.5f, 0.75f, 1.0f});
  Array w = Array::of({2.0f, 0.5f, 4.0f});
  Array curve =
      streamed([](In in) { return pr_curve(in[0], in[1], {.thresholds = 3, .weights = in[2]}); },
               {labels, p, w});
  EXPECT_THAT(numbers(curve),
              ElementsAre(2, 2, 0, 4.5, 4.5, 4, 0, 0, 0.5, 0, 0, 2, 2 / 6.5, 2 / 6.5, 0, 1, 1, 0));
}

TEST(PrCurve, OfNothingIsZero) {
  Array none = Array::zeros({0});
  Array curve = streamed([](In in) { return pr_curve(in[0], in[1]); }, {none, none});
  EXPECT_EQ(curve.shape(), (Shape{6, 201}));
  for (double x : numbers(curve)) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace belfry::testing
