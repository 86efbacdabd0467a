// Numbers by NumPy and SciPy, from their own means of the same: np.cov, scipy.linalg.sqrtm of the
// product of covariances (with fewer rows than features the nuclear norm of the product of centred
// data, by np.linalg.svd, in its place), and the polynomial kernel written out.
#include "belfry/models/gan/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "../../framework/base/error_of.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;
using Build = std::function<Metric(Tensor, Tensor)>;

const Array x = Array::of(
    {0.5f, -1.f, 2.f, 1.5f, 0.25f, -0.75f, -2.f, 1.f, 0.f, 3.f, -0.5f, 1.f, 0.f, 2.f, -1.5f},
    {5, 3});
const Array y =
    Array::of({1.f, 0.f, 0.5f, -0.25f, 1.5f, 2.f, 2.f, -1.f, -2.f, 0.75f, 0.5f, 1.f}, {4, 3});

Array without_rows(std::int64_t columns) { return Array::zeros({0, columns}); }

// The merged state of batches, each real and generated.
double value_of(const Build& build, const std::vector<std::pair<Array, Array>>& batches) {
  std::vector<double> merged;
  Metric metric;
  for (const auto& [real, generated] : batches) {
    Graph graph;
    metric = build(constant(graph, real), constant(graph, generated));
    Array state = evaluate({metric.state})[0];
    merged.resize(static_cast<std::size_t>(state.elements()));
    for (std::size_t i = 0; i < merged.size(); ++i) merged[i] += state.span<double>()[i];
  }
  return metric.value(merged).item();
}

Build frechet(Covariance covariance) {
  return [=](Tensor a, Tensor b) { return frechet_distance(a, b, {.covariance = covariance}); };
}

// Scores of the rows of x alone.
Build score(InceptionScoreOptions options = {}) {
  return [=](Tensor a, Tensor) { return inception_score(a, options); };
}

Build sliced(std::int64_t projections) {
  return [=](Tensor a, Tensor b) {
    return sliced_wasserstein_distance(Scope(a.graph()), a, b, {.projections = projections});
  };
}

const std::vector<Build> distances{frechet(Covariance::full), frechet(Covariance::diagonal),
                                   frechet(Covariance::none), kernel_distance};

TEST(GanMetrics, FrechetDistances) {
  EXPECT_NEAR(value_of(frechet(Covariance::full), {{x, y}}), 6.07320539660249, 1e-12);
  EXPECT_NEAR(value_of(frechet(Covariance::diagonal), {{x, y}}), 1.1167308186863, 1e-12);
  EXPECT_NEAR(value_of(frechet(Covariance::none), {{x, y}}), 0.13625, 1e-12);
  // The root of a singular matrix is good to 1e-8.
  EXPECT_NEAR(value_of(frechet(Covariance::full), {{x, x}}), 0, 1e-7);
}

TEST(GanMetrics, FrechetDistancesDoNotDependOnBatches) {
  for (std::size_t kind : {0, 1, 2}) {
    double whole = value_of(distances[kind], {{x, y}});
    double cut = value_of(distances[kind], {{x.rows(0, 1), y.rows(0, 3)},
                                            {x.rows(1, 4), y.rows(3, 1)},
                                            {without_rows(3), without_rows(3)}});
    EXPECT_NEAR(cut, whole, 1e-12);
  }
}

TEST(GanMetrics, FrechetDistanceOfFewerRowsThanFeatures) {
  Array a = Array::of(
      {1.f, 0.f, 2.f, -1.f, 0.5f, 0.f, 1.f, 1.f, 1.f, -2.f, 2.f, 2.f, 0.f, 0.5f, 1.f}, {3, 5});
  Array b = Array::of(
      {0.f, 0.f, 1.f, 2.f, 3.f, 1.f, -1.f, 0.f, 1.f, 0.f, -1.f, 0.5f, 2.f, 0.f, 1.f}, {3, 5});
  EXPECT_NEAR(value_of(frechet(Covariance::full), {{a, b}}), 11.8244204226688, 1e-6);
}

TEST(GanMetrics, KernelDistanceIsTheMeanOfBlocks) {
  EXPECT_NEAR(value_of(kernel_distance, {{x, y}}), -2.46858934944059, 1e-12);
  EXPECT_NEAR(
      value_of(kernel_distance,
               {{x, y}, {x.rows(0, 2), y.rows(1, 3)}, {x.rows(0, 1), y}, {x, y.rows(0, 1)}}),
      -3.605821612861, 1e-12);
}

TEST(GanMetrics, InceptionScore) {
  Array logits =
      Array::of({2.f, 0.f, -1.f, 0.5f, 0.5f, 0.f, -1.f, 3.f, 1.f, 100.f, -100.f, 0.f}, {4, 3});
  EXPECT_NEAR(value_of(score(), {{logits, logits}}), 1.50523577696217, 1e-12);
  Array first = logits.rows(0, 3), last = logits.rows(3, 1);
  EXPECT_NEAR(value_of(score(), {{first, first}, {last, last}}), 1.50523577696217, 1e-12);
}

TEST(GanMetrics, InceptionScoreIsBetweenOneAndTheClasses) {
  Array sure = Array::of({1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f}, {3, 3});
  EXPECT_NEAR(value_of(score({.probabilities = true}), {{sure, sure}}), 3, 1e-12);
  EXPECT_NEAR(value_of(score({.probabilities = true}), {{sure.rows(1, 1), sure}}), 1, 1e-12);
  Array huge = Array::of({3e38f, 0.f, -3e38f, -3e38f, 3e38f, 0.f}, {2, 3});
  EXPECT_NEAR(value_of(score(), {{huge, huge}}), 2, 1e-12);
}

// Sorted they are 1 2 2 3 and 0 1.5 2.5 5.
TEST(GanMetrics, WassersteinDistanceOnALine) {
  Array a = Array::of({3.f, 1.f, 2.f, 2.f}, {4, 1}), b = Array::of({0.f, 1.5f, 5.f, 2.5f}, {4, 1});
  EXPECT_NEAR(value_of(sliced(3), {{a, b}}), 1, 1e-12);
  EXPECT_NEAR(value_of(sliced(3), {{a, b}, {a.rows(0, 1), b.rows(0, 1)}}), (4 + 3) / 5.0, 1e-12);
  EXPECT_EQ(value_of(sliced(3), {{a, a}}), 0);
}

// The distance of two points is the mean of |cos|, 2 / pi, times their distance, here with a
// deviation of 0.31 * 5 / 100.
TEST(GanMetrics, WassersteinDistanceIsTheMeanOverDirections) {
  Array a = Array::of({0.f, 0.f}, {1, 2}), b = Array::of({3.f, -4.f}, {1, 2});
  EXPECT_NEAR(value_of(sliced(10'000), {{a, b}}), 5 * 2 / std::numbers::pi, 0.05);
}

TEST(GanMetrics, HugeFeaturesAreNoTrouble) {
  Array a = Array::of({3e38f, -3e38f, 1e38f, 2e38f}, {2, 2});
  for (const Build& build : distances)
    EXPECT_TRUE(std::isfinite(value_of(build, {{a, x.rows(0, 4).reshape({6, 2})}})));
  EXPECT_TRUE(std::isfinite(value_of(sliced(2), {{a, a}})));
}

TEST(GanMetrics, NanAndTooFewRowsAreNan) {
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Array a = y.clone();
    a.span<float>()[4] = bad;
    for (const Build& build : distances) EXPECT_FALSE(std::isfinite(value_of(build, {{x, a}})));
    EXPECT_FALSE(std::isfinite(value_of(sliced(2), {{y, a}})));
    EXPECT_FALSE(std::isfinite(value_of(score(), {{a, a}})));
  }
  for (const Build& build : {distances[0], distances[1], distances[3]})
    EXPECT_TRUE(std::isnan(value_of(build, {{x.rows(0, 1), y.rows(0, 1)}})));
  Array none = without_rows(3);
  for (const Build& build : distances) EXPECT_TRUE(std::isnan(value_of(build, {{none, none}})));
  EXPECT_TRUE(std::isnan(value_of(score(), {{none, none}})));
  EXPECT_TRUE(std::isnan(value_of(sliced(2), {{none, none}})));
}

TEST(GanMetrics, ShapesThatDoNotFitAreRefused) {
  Array other = Array::zeros({5, 2});
  EXPECT_THAT(error_of([&] {
                value_of(frechet(Covariance::full), {{x, other}});
              }),
              HasSubstr("real data have 3 features but generated data have 2"));
  EXPECT_THAT(error_of([&] {
                value_of(kernel_distance, {{x.reshape({15}), y}});
              }),
              HasSubstr("features of real data must be floating [n, d], got f32[15]"));
  EXPECT_THAT(error_of([&] {
                value_of(sliced(1), {{x, y}});
              }),
              HasSubstr("there are 5 rows of real data but 4 of generated data"));
  EXPECT_THAT(error_of([&] { value_of(sliced(0), {{x, x}}); }), HasSubstr("at least 1, got 0"));
  EXPECT_THAT(error_of([&] {
                value_of(score(), {{x.reshape({15}), x}});
              }),
              HasSubstr("logits must be floating [n, d]"));
}

}  // namespace
}  // namespace belfry::gan
