#include <gmock/gmock.h>

#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

Array filled(const Initializer& initializer, const Shape& shape, DType dtype = DType::f64,
             std::uint64_t key = 1) {
  Array out(shape, dtype);
  initializer.fill(out, {key});
  return out;
}

struct Moments {
  double mean = 0, variance = 0, low = INFINITY, high = -INFINITY;
};

Moments moments(const Array& array) {
  Moments m;
  auto n = static_cast<double>(array.elements());
  for (double x : array.span<double>()) {
    m.mean += x / n;
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  for (double x : array.span<double>()) m.variance += (x - m.mean) * (x - m.mean) / n;
  return m;
}

// Standard errors for n = 48,000 draws: of a mean sigma / sqrt(n), of a variance below
// sigma^2 sqrt(2 / n); each allowed five times.
constexpr double draws = 48'000;
void expect_moments(const Moments& m, double mean, double variance) {
  EXPECT_NEAR(m.mean, mean, 5 * std::sqrt(variance / draws));
  EXPECT_NEAR(m.variance, variance, 5 * variance * std::sqrt(2 / draws));
}

TEST(Initializer, ConstantsFillEveryType) {
  EXPECT_EQ(filled(zeros(), {3}).at(2), 0);
  EXPECT_EQ(filled(ones(), {2, 2}, DType::f32).at(3), 1);
  EXPECT_EQ(filled(constant_value(-2.5), {}, DType::bf16).item(), -2.5);
  EXPECT_EQ(filled(constant_value(7), {4}, DType::i64).at(1), 7);
  EXPECT_EQ(filled(ones(), {0, 3}).elements(), 0);
}

TEST(Initializer, UniformStaysWithinItsBounds) {
  Moments m = moments(filled(uniform(-1, 3), {240, 200}));
  EXPECT_GE(m.low, -1);
  EXPECT_LE(m.high, 3);
  expect_moments(m, 1, 16.0 / 12);
}

TEST(Initializer, NormalHasItsMoments) {
  expect_moments(moments(filled(normal(2, 3), {240, 200})), 2, 9);
}

TEST(Initializer, TruncatedNormalStaysWithinTwoDeviations) {
  Moments m = moments(filled(truncated_normal(1, 0.5), {240, 200}));
  EXPECT_GE(m.low, 0);
  EXPECT_LE(m.high, 2);
  // Variance of a unit normal cut at 2: 1 - 2 * 2 phi(2) / (2 Phi(2) - 1).
  double density = std::exp(-2.0) / std::sqrt(2 * M_PI), inside = std::erf(std::sqrt(2.0));
  expect_moments(m, 1, 0.25 * (1 - 4 * density / inside));
}

// A kernel [4, 3, 40, 100]: fan in 480, fan out 1200.
constexpr double fan_in = 480, fan_out = 1200;
const Shape kernel{4, 3, 40, 100};

TEST(Initializer, GlorotUniformKeepsItsBoundAndVariance) {
  Moments m = moments(filled(glorot_uniform(), kernel));
  double bound = std::sqrt(6 / (fan_in + fan_out));
  EXPECT_LE(m.high, bound);
  EXPECT_GE(m.low, -bound);
  EXPECT_GT(m.high, 0.999 * bound);  // of 48,000 draws one is that near but for 4e-11
  EXPECT_LT(m.low, -0.999 * bound);
  expect_moments(m, 0, 2 / (fan_in + fan_out));
}

TEST(Initializer, HeUniformKeepsItsBoundAndVariance) {
  Moments m = moments(filled(he_uniform(), kernel));
  double bound = std::sqrt(6 / fan_in);
  EXPECT_LE(m.high, bound);
  EXPECT_GE(m.low, -bound);
  EXPECT_GT(m.high, 0.999 * bound);
  EXPECT_LT(m.low, -0.999 * bound);
  expect_moments(m, 0, 2 / fan_in);
}

TEST(Initializer, GlorotAndHeNormalHaveTheirVarianceAfterTruncation) {
  Moments glorot = moments(filled(glorot_normal(), kernel));
  expect_moments(glorot, 0, 2 / (fan_in + fan_out));
  Moments he = moments(filled(he_normal(), kernel));
  expect_moments(he, 0, 2 / fan_in);
  double deviation = std::sqrt(2 / fan_in) / 0.87962566103423978;
  EXPECT_LE(he.high, 2 * deviation);
  EXPECT_GE(he.low, -2 * deviation);
}

TEST(Initializer, FansOfVectorsAndMatrices) {
  // A vector [n] has both fans n; a matrix [in, out] has its sizes.
  Moments vector = moments(filled(glorot_uniform(), {48'000}));
  expect_moments(vector, 0, 1.0 / 48'000);
  Moments matrix = moments(filled(he_uniform(), {60, 800}));
  expect_moments(matrix, 0, 2.0 / 60);
}

// The largest difference between M^T M (or M M^T where there are fewer rows than columns) and
// `gain`^2 times the identity.
double distance_from_orthogonal(const Array& m, std::int64_t columns, double gain) {
  std::int64_t rows = m.elements() / columns, n = std::min(rows, columns);
  bool tall = rows >= columns;
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::int64_t k = 0; k < std::max(rows, columns); ++k)
        dot += tall ? m.at(k * columns + i) * m.at(k * columns + j)
                    : m.at(i * columns + k) * m.at(j * columns + k);
      worst = std::max(worst, std::abs(dot - (i == j ? gain * gain : 0)));
    }
  }
  return worst;
}

TEST(Initializer, OrthogonalIsOrthogonal) {
  EXPECT_LT(distance_from_orthogonal(filled(orthogonal(), {16, 16}), 16, 1), 1e-14);
  EXPECT_LT(distance_from_orthogonal(filled(orthogonal(2), {40, 7}), 7, 2), 1e-14 * 4);
  EXPECT_LT(distance_from_orthogonal(filled(orthogonal(), {7, 40}), 40, 1), 1e-14);
  EXPECT_LT(distance_from_orthogonal(filled(orthogonal(), {3, 3, 4, 10}), 10, 1), 1e-14);
  EXPECT_LT(distance_from_orthogonal(filled(orthogonal(), {16, 16}, DType::f32), 16, 1), 1e-6);
  EXPECT_EQ(std::abs(filled(orthogonal(), {1, 1}).item()), 1);
  EXPECT_EQ(filled(orthogonal(), {0, 4}).elements(), 0);
}

TEST(Initializer, OrthogonalNeedsAMatrix) {
  EXPECT_THAT([] { filled(orthogonal(), {4}); },
              ThrowsMessage<Error>(
                  StrEq("orthogonal initializer: needs rank 2 or more, the shape is [4]")));
}

TEST(Initializer, GivenValuesAreConverted) {
  Array out = filled(given(Array::of({1.0f, 2.5f})), {2});
  EXPECT_TRUE(identical(out, Array::of({1.0, 2.5})));
  EXPECT_THAT(
      [] {
        filled(given(Array::of({1.0f, 2.5f})), {3});
      },
      ThrowsMessage<Error>(
          StrEq("initializer: the given values have shape [2] but the variable is [3]")));
  EXPECT_THAT([] { given(Array()); },
              ThrowsMessage<Error>(StrEq("given initializer: the array is undefined")));
}

TEST(Initializer, DrawsDependOnTheKeyAlone) {
  EXPECT_TRUE(
      identical(filled(he_normal(), {8}, DType::f32, 5), filled(he_normal(), {8}, DType::f32, 5)));
  EXPECT_FALSE(
      identical(filled(he_normal(), {8}, DType::f32, 5), filled(he_normal(), {8}, DType::f32, 6)));
}

TEST(Initializer, WordsTellThemApart) {
  EXPECT_EQ(to_string(zeros()), "constant(0)");
  EXPECT_EQ(to_string(uniform(-0.5, 2)), "uniform(-0.5, 2)");
  EXPECT_EQ(to_string(normal(0, 0.02)), "normal(0, 0.02)");
  EXPECT_EQ(to_string(truncated_normal()), "truncated_normal(0, 1)");
  EXPECT_EQ(to_string(glorot_uniform()), "variance_scaling(1, fan_average, uniform)");
  EXPECT_EQ(to_string(glorot_normal()), "variance_scaling(1, fan_average, truncated_normal)");
  EXPECT_EQ(to_string(he_uniform()), "variance_scaling(2, fan_in, uniform)");
  EXPECT_EQ(to_string(he_normal()), "variance_scaling(2, fan_in, truncated_normal)");
  EXPECT_EQ(to_string(orthogonal(1.5)), "orthogonal(1.5)");
  EXPECT_EQ(to_string(given(Array::of({1, 2}))), "given(i32[2] {1, 2})");
}

}  // namespace
}  // namespace belfry
