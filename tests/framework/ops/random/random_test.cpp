// Covers random_uniform, random_normal, random_truncated_normal, dropout.cpp, draw.
#include <cmath>
#include <vector>

#include "../support.h"

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;
using ::testing::Lt;

constexpr std::int64_t seed = 7, step = 5;
constexpr std::uint64_t stream = 11;

Array draw(const OpDef& op, const Shape& shape, double a, double b, std::int64_t first_row = 0,
           DType dtype = DType::f64) {
  return run(op, {Array::of({seed, step, first_row})},
             RandomOptions{.type = {shape, dtype}, .stream = stream, .a = a, .b = b});
}

Array drop(const Array& x, float rate, std::int64_t first_row = 0, std::int64_t at_step = step) {
  return run(dropout_op, {x, Array::of({seed, at_step, first_row})},
             DropoutMask{.rate = rate, .stream = stream});
}

template <class T>
std::vector<T> elements(const Array& array) {
  auto span = array.span<T>();
  return {span.begin(), span.end()};
}

// The known numbers come from a separate program that follows the text of random.h.
TEST(RandomUniform, FollowsItsFormula) {
  EXPECT_THAT(
      elements<double>(draw(random_uniform_op, {2, 5}, 0, 1, 2)),
      ElementsAre(0.5233013033866882, 0.0956076979637146, 0.76790851354599, 0.18180429935455322,
                  0.1808297038078308, 0.542173445224762, 0.950516939163208, 0.3974425196647644,
                  0.2005678415298462, 0.17201530933380127));
  EXPECT_THAT(elements<double>(draw(random_uniform_op, {}, 10, 12, 2)),
              ElementsAre(10 + 2 * 0.391903817653656));
}

TEST(RandomNormal, FollowsItsFormula) {
  auto near = [](double x) { return DoubleNear(x, 1e-14); };
  EXPECT_THAT(
      elements<double>(draw(random_normal_op, {1, 5}, 0, 1, 2)),
      ElementsAre(near(0.9388233309353435), near(0.6432779091407057), near(0.3019614548353822),
                  near(0.661051069442931), near(1.07508292645299)));
  EXPECT_THAT(elements<double>(draw(random_normal_op, {1, 1}, 3, 2, 2)),
              ElementsAre(near(3 + 2 * 0.9388233309353435)));
}

TEST(RandomTruncatedNormal, DrawsAgainWhatLiesOutside) {
  Array y = draw(random_truncated_normal_op, {40, 5}, 0, 1);
  EXPECT_NEAR(y.at(2 * 5 + 0), 0.9388233309353435, 1e-14);   // the first attempt
  EXPECT_NEAR(y.at(10 * 5 + 2), 1.7840038872625024, 1e-14);  // 2.50 was drawn first
  EXPECT_NEAR(y.at(31 * 5 + 1), 0.9026726352183384, 1e-14);  // -2.86 was
}

TEST(Random, RowsDoNotDependOnTheTowerThatDrawsThem) {
  for (const OpDef* op : {&random_uniform_op, &random_normal_op, &random_truncated_normal_op}) {
    Array all = draw(*op, {15, 7}, 0, 1, 3);
    Array first = draw(*op, {8, 7}, 0, 1, 3), second = draw(*op, {7, 7}, 0, 1, 11);
    for (std::int64_t r = 0; r < 15; ++r)
      EXPECT_TRUE(identical(all.row(r), r < 8 ? first.row(r) : second.row(r - 8))) << op->name;
  }
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const Array& x) {
  Moments m;
  auto n = static_cast<double>(x.elements());
  for (double v : x.span<double>()) m.mean += v / n;
  for (double v : x.span<double>()) m.variance += (v - m.mean) * (v - m.mean) / n;
  return m;
}

// 90000 draws: the standard error of a mean is 1/300 of the standard deviation.
TEST(Random, MeanAndVarianceAreThoseOfTheDistribution) {
  Moments uniform = moments(draw(random_uniform_op, {300, 300}, -1, 3));
  EXPECT_NEAR(uniform.mean, 1, 0.015);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.02);
  Moments normal = moments(draw(random_normal_op, {300, 300}, 5, 2));
  EXPECT_NEAR(normal.mean, 5, 0.03);
  EXPECT_NEAR(normal.variance, 4, 0.08);
  Array inside = draw(random_truncated_normal_op, {300, 300}, 5, 2);
  EXPECT_THAT(inside.span<double>(), Each(AllOf(Ge(1), Le(9))));
  EXPECT_NEAR(moments(inside).mean, 5, 0.03);
  EXPECT_NEAR(moments(inside).variance, 4 * 0.7737413, 0.06);  // 1 - 4 phi(2) / (2 Phi(2) - 1)
}

TEST(RandomUniform, NeverReachesTheUpperBoundByRounding) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (auto [low, high] : {std::pair{0.0, 1.0}, {-1.0, 0.0}, {-2.0, -1.0}, {100.0, 101.0}}) {
      Array y = draw(random_uniform_op, {100, 100}, low, high, 0, dtype).cast(DType::f64);
      EXPECT_THAT(y.span<double>(), Each(AllOf(Ge(low), Lt(high)))) << concat(dtype, low);
    }
  }
}

TEST(Random, ScopesAndStepsHaveStreamsOfTheirOwn) {
  Graph graph;
  Scope s(graph);
  Tensor a = random_uniform(s / "a", {3, 3}), again = random_uniform(s / "a", {3, 3});
  Tensor b = random_uniform(s / "b", {3, 3});
  EXPECT_NE(values(a), values(again));
  EXPECT_NE(values(a), values(b));
  auto at = [&](EvaluateOptions options) { return evaluate({a}, {}, options)[0]; };
  EXPECT_TRUE(identical(at({.seed = 1, .step = 2}), at({.seed = 1, .step = 2})));
  EXPECT_FALSE(identical(at({.seed = 1, .step = 2}), at({.seed = 1, .step = 3})));
  EXPECT_FALSE(identical(at({.seed = 1, .step = 2}), at({.seed = 2, .step = 2})));
}

TEST(Random, AgreesWithItsReferenceForOddShapes) {
  for (const Shape& shape : shapes)
    EXPECT_EQ(check_op({.build = [&](const Scope& s, auto x) -> std::vector<Tensor> {
                          DType dtype = x[0].dtype();
                          return {random_uniform(s, shape, -1, 2, dtype),
                                  random_normal(s, shape, 1, 2, dtype),
                                  random_truncated_normal(s, shape, 0, 1, dtype), x[0]};
                        },
                        .inputs = {noise({2})}}),
              "")
        << concat(shape);
}

TEST(Dropout, KeepsElementsByTheirUniformNumber) {
  Array x = Array::of({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f, 10.f}, {2, 5});
  EXPECT_THAT(elements<float>(drop(x, 0.5f, 2)), ElementsAre(2, 0, 6, 0, 0, 12, 14, 0, 0, 0));
  EXPECT_THAT(elements<float>(drop(x, 0.75f, 2)), ElementsAre(0, 0, 12, 0, 0, 0, 28, 0, 0, 0));
}

TEST(Dropout, RowsDoNotDependOnTheTowerThatDrawsThem) {
  Array x = noise({15, 7});
  Array all = drop(x, 0.4f, 3);
  for (std::int64_t r = 0; r < 15; ++r) {
    Array row = x.row(r).reshape({1, 7});
    EXPECT_TRUE(identical(all.row(r).reshape({1, 7}), drop(row, 0.4f, 3 + r)));
  }
  EXPECT_FALSE(identical(all, drop(x, 0.4f, 3, step + 1)));
}

TEST(Dropout, KeepsTheShareAndTheMean) {
  Array ones(Shape{300, 300}, DType::f64);
  for (double& x : ones.span<double>()) x = 1;
  Array y = drop(ones, 0.4f);
  EXPECT_NEAR(moments(y).mean, 1, 0.015);
  EXPECT_THAT(y.span<double>(), Each(::testing::AnyOf(0.0, 1 / (1 - double{0.4f}))));
}

TEST(Dropout, GradientHasTheSameMask) {
  for (const Shape& shape : shapes)
    EXPECT_EQ(check_op({.build = [](const Scope& s, auto x) -> std::vector<Tensor> {
                          return {dropout(s, x[0], {.rate = 0.3f})};
                        },
                        .inputs = {noise(shape)}}),
              "")
        << concat(shape);
}

TEST(Dropout, DoesNothingOutsideTrainingOrAtRateZero) {
  Graph graph;
  Tensor x = constant(graph, noise({3}));
  EXPECT_EQ(dropout(Scope(graph), x, {.rate = 0.5f, .training = false}), x);
  EXPECT_EQ(dropout(Scope(graph), x, {.rate = 0}), x);
}

TEST(Random, Errors) {
  Graph graph;
  Scope s = Scope(graph) / "net";
  Tensor x = constant(graph, noise({3}));
  EXPECT_EQ(error_of([&] { dropout(s, x, {.rate = 1}); }),
            "dropout: the rate must be in [0, 1), got 1");
  EXPECT_EQ(error_of([&] { dropout(s, cast(x, DType::i64)); }),
            "dropout: expected a floating type, got i64[3] (at net)");
  EXPECT_EQ(error_of([&] { random_uniform(s, {3}, 1, 1); }),
            "random_uniform: low must be below high, got 1 and 1");
  EXPECT_EQ(error_of([&] { random_uniform(s, {3}, 0, 9, DType::i64); }),
            "random_uniform: expected a floating type, got i64 (at net)");
  EXPECT_EQ(error_of([&] { random_normal(s, {3}, 0, -1); }),
            "random_normal: the standard deviation must be at least 0, got -1");
  EXPECT_EQ(error_of([&] { random_truncated_normal(s, {3}, 0, -1); }),
            "random_truncated_normal: the standard deviation must be at least 0, got -1");
}

}  // namespace
}  // namespace belfry::testing
