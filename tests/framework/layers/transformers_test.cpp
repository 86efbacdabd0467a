#include "belfry/framework/layers/transformers.h"

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

auto near(std::vector<double> expected) {
  return Pointwise(DoubleNear(1e-12), std::move(expected));
}

// Angles of pair i at step t: t 10000^(-2 i / 4), which are t and t / 100.
TEST(Rotary, TurnsPairsByTheirAngle) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 1, 4}, {1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0});
  double c = std::cos(1.0), s = std::sin(1.0), cs = std::cos(0.01), ss = std::sin(0.01);
  EXPECT_THAT(values(rotary(x)),
              near({1, 2, 3, 4, c - 3 * s, 2 * cs - 4 * ss, 3 * c + s, 4 * cs + 2 * ss}));
  EXPECT_THAT(values(rotary(x, {.interleaved = true})),
              near({1, 2, 3, 4, c - 2 * s, 2 * c + s, 3 * cs - 4 * ss, 4 * cs + 3 * ss}));
  double c2 = std::cos(2.0), s2 = std::sin(2.0);
  EXPECT_NEAR(values(rotary(x, {.first = 1}))[4], c2 - 3 * s2, 1e-12);
}

// The product of a query and a key depends on how far apart they are, alone.
TEST(Rotary, ProductsKnowDistances) {
  Graph graph;
  Tensor x = constant(graph, wave({1, 1, 1, 6}, 1)), y = constant(graph, wave({1, 1, 1, 6}, 2));
  auto product = [&](std::int64_t first, std::int64_t second) {
    std::vector<double> a = values(rotary(x, {.first = first})),
                        b = values(rotary(y, {.first = second}));
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  EXPECT_NEAR(product(3, 1), product(9, 7), 1e-12);
  EXPECT_GT(std::abs(product(3, 1) - product(3, 2)), 1e-3);
}

TEST(Rotary, TakesPositions) {
  Graph graph;
  Tensor x = constant(graph, wave({2, 3, 2, 4}, 0));
  std::vector<double> from_zero = values(rotary(x)), from_two = values(rotary(x, {.first = 2}));
  std::vector<double> expected(from_zero.begin(), from_zero.begin() + 24);
  expected.insert(expected.end(), from_two.begin() + 24, from_two.end());
  Tensor positions = tensor<std::int64_t>(graph, {2, 3}, {0, 1, 2, 2, 3, 4});
  EXPECT_EQ(values(rotary(x, {.positions = positions, .longest = 5})), expected);
  EXPECT_THAT(error_of([&] { values(rotary(x, {.positions = positions, .longest = 4})); }),
              ::testing::HasSubstr("embedding_lookup: index 4 at position 5 is outside 0..3"));
  EXPECT_EQ(error_of([&] { rotary(x, {.positions = positions}); }),
            "rotary: positions need the option longest, which is 0, and take the place of first, "
            "which is 0");
  EXPECT_EQ(error_of([&] {
              rotary(x, {.positions = reshape(positions, {3, 2}), .longest = 5});
            }),
            "rotary: positions must be i32 or i64 [2, 3], got i64[3, 2]");
}

TEST(AlibiBias, FallsWithTheDistance) {
  Graph graph;
  Tensor bias = alibi_bias(Scope(graph), 2, 2, 3);
  // Slopes 2^-4 and 2^-8; the first query stands at key 1.
  EXPECT_THAT(values(bias), near({-0.0625, 0, -0.0625, -0.125, -0.0625, 0, -0.00390625, 0,
                                  -0.00390625, -0.0078125, -0.00390625, 0}));
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  Graph graph;
  Tensor x = tensor(graph, {2, 2}, {3.0, 4.0, 0.0, 0.0});
  Tensor y = rms_norm(Scope(graph) / "norm", x, {.epsilon = 0.5});
  double root = std::sqrt(12.5 + 0.5);
  EXPECT_THAT(values(y, {{"norm/scale", Array::of({2.0, -1.0}, {2})}}),
              near({6 / root, -4 / root, 0, 0}));
  EXPECT_EQ(to_string(rms_norm(Scope(graph) / "half", cast(x, DType::bf16)).type()), "bf16[2, 2]");
}

TEST(Swiglu, GatesWithSilu) {
  Graph graph;
  Tensor x = tensor(graph, {1, 1}, {2.0});
  Tensor y = swiglu(Scope(graph) / "mlp", x, {.hidden = 2});
  std::vector<double> found = values(y, {{"mlp/gate/kernel", Array::of({1.0, -1.0}, {1, 2})},
                                         {"mlp/up/kernel", Array::of({3.0, 5.0}, {1, 2})},
                                         {"mlp/down/kernel", Array::of({1.0, 10.0}, {2, 1})}});
  double first = 2 / (1 + std::exp(-2.0)) * 6, second = -2 / (1 + std::exp(2.0)) * 10;
  EXPECT_THAT(found, near({first + 10 * second}));
}

TEST(Transformers, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 2, 1, 3}));
  EXPECT_EQ(error_of([&] { rotary(x); }),
            "rotary: expected floating [n, t, heads, d] with an even d, got f32[1, 2, 1, 3]");
  EXPECT_EQ(error_of([&] { alibi_bias(Scope(graph) / "a", 0, 1, 1); }),
            "alibi_bias: 0 heads, 1 queries, 1 keys; expected at least 1 each (at a)");
  EXPECT_EQ(error_of([&] { rms_norm(Scope(graph) / "a", x, {.epsilon = -1}); }),
            "rms_norm: epsilon must be at least 0, got -1 (at a)");
}

}  // namespace
}  // namespace belfry::testing
