// Covers leaky_relu, elu, gelu.cpp, silu, softplus and clip.
#include <cmath>
#include <functional>

#include "../support.h"

namespace belfry::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;

struct Case {
  std::string name;
  std::function<Tensor(Tensor)> op;
};

const std::vector<Case> cases = {
    {"leaky_relu", [](Tensor x) { return leaky_relu(x); }},
    {"leaky_relu 0", [](Tensor x) { return leaky_relu(x, {.alpha = 0}); }},
    {"elu", [](Tensor x) { return elu(x); }},
    {"elu 1.5", [](Tensor x) { return elu(x, {.alpha = 1.5f}); }},
    {"gelu", [](Tensor x) { return gelu(x); }},
    {"gelu tanh", [](Tensor x) { return gelu(x, {.approximate = true}); }},
    {"silu", [](Tensor x) { return silu(x); }},
    {"softplus", [](Tensor x) { return softplus(x); }},
    {"softplus 3", [](Tensor x) { return softplus(x, {.beta = 3}); }},
    {"clip", [](Tensor x) { return clip(x, -1, 0.5); }},
};

TEST(Activations, AgreeWithTheirReferenceAndDifferences) {
  for (const Case& c : cases)
    for (const Shape& shape : shapes)
      EXPECT_EQ(check_op({.build = [&](const Scope&, auto x) -> std::vector<Tensor> {
                            return {c.op(x[0])};
                          },
                          .inputs = {noise(shape)}}),
                "")
          << concat(c.name, shape);
}

// Also in f16, whose largest number is 65504, and in the second derivative.
TEST(Activations, ValuesAndGradientsStayFiniteFarOut) {
  for (const Case& c : cases) {
    for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      double far = dtype == DType::f16 ? 2e4 : 1e30;
      Graph graph;
      Tensor x = cast(tensor(graph, {7}, {-far, -1000.0, -20.0, 0.0, 20.0, 1000.0, far}), dtype);
      Tensor y = c.op(x);
      auto finite = Each(::testing::AllOf(::testing::Gt(-inf), ::testing::Lt(inf)));
      EXPECT_THAT(values(y), finite) << concat(c.name, dtype);
      Tensor dx = gradients(sum(y), std::vector<Tensor>{x})[0];
      EXPECT_THAT(values(dx), finite) << concat(c.name, dtype);
      bool linear = !gradients(sum(dx), std::vector<Tensor>{x})[0].defined();
      if (linear) continue;
      EXPECT_THAT(slope(dx, x), finite) << concat(c.name, dtype);
    }
  }
}

// x times 0 or 1: a smallest number in place of 0 would show beside the largest ones.
TEST(Activations, GeluIsReluFarOut) {
  for (bool approximate : {false, true})
    for (DType dtype : {DType::f64, DType::f32}) {
      Graph graph;
      Tensor x = cast(tensor(graph, {4}, {-1e30, -1000.0, 1000.0, 1e30}), dtype);
      Tensor y = gelu(x, {.approximate = approximate});
      EXPECT_EQ(values(y), values(relu(x)));
      EXPECT_THAT(values(gradients(sum(y), std::vector<Tensor>{x})[0]), ElementsAre(0, 0, 1, 1));
    }
}

// Against differences of the first one.
TEST(Activations, SecondDerivativesOfGelu) {
  constexpr double step = 1e-5;
  for (bool approximate : {false, true})
    for (double at : {-1.5, 0.3, 2.0}) {
      Graph graph;
      Tensor x = tensor(graph, {3}, {at, at - step, at + step});
      Tensor dx = gradients(sum(gelu(x, {.approximate = approximate})), std::vector<Tensor>{x})[0];
      std::vector<double> first = values(dx),
                          second = values(gradients(sum(dx), std::vector<Tensor>{x})[0]);
      EXPECT_NEAR(second[0], (first[2] - first[1]) / (2 * step), 1e-8) << at << approximate;
    }
}

TEST(Activations, NanStaysNan) {
  for (const Case& c : cases) {
    Graph graph;
    EXPECT_TRUE(std::isnan(values(c.op(tensor(graph, {}, {nan})))[0])) << concat(c.name);
  }
}

TEST(Activations, KnownValues) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3}, {-1, 0, 2});
  EXPECT_THAT(values(leaky_relu(x, {.alpha = 0.25f})), ElementsAre(-0.25, 0, 2));
  EXPECT_THAT(values(elu(x, {.alpha = 2})), ElementsAre(DoubleEq(2 * std::expm1(-1)), 0, 2));
  EXPECT_THAT(values(gelu(x)), ElementsAre(DoubleNear(-0.15865525393145707, 1e-15), 0,
                                           DoubleNear(1.9544997361036416, 1e-15)));
  EXPECT_THAT(values(gelu(x, {.approximate = true})),
              ElementsAre(DoubleNear(-0.15880800939172324, 1e-15), 0,
                          DoubleNear(1.954597694087775, 1e-15)));
  EXPECT_THAT(values(silu(x)),
              ElementsAre(DoubleEq(-0.2689414213699951), 0, DoubleEq(1.7615941559557649)));
  EXPECT_THAT(values(softplus(x)),
              ElementsAre(DoubleEq(0.3132616875182228), DoubleEq(0.6931471805599453),
                          DoubleEq(2.1269280110429727)));
  EXPECT_THAT(values(softplus(x, {.beta = 2})),
              ElementsAre(DoubleEq(0.06346400552148625), DoubleEq(0.34657359027997264),
                          DoubleEq(2.0090749639589047)));
  EXPECT_THAT(values(clip(x, -0.5, 1)), ElementsAre(-0.5, 0, 1));
}

TEST(Activations, GradientsAtTheirKinks) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3}, {-1, 0, 2});
  EXPECT_THAT(slope(leaky_relu(x, {.alpha = 0.25f}), x), ElementsAre(0.25, 0.25, 1));
  EXPECT_THAT(slope(elu(x), x), ElementsAre(DoubleEq(std::exp(-1)), 1, 1));
  EXPECT_THAT(slope(softplus(x), x),
              ElementsAre(DoubleEq(0.2689414213699951), 0.5, DoubleEq(0.8807970779778824)));
  EXPECT_THAT(slope(clip(x, -1, 2), x), ElementsAre(1, 1, 1));  // on the borders
  EXPECT_THAT(slope(clip(x, -0.5, 1.5), x), ElementsAre(0, 1, 0));
}

TEST(Clip, WholeNumbersLieBetweenTheBounds) {
  Graph graph;
  Tensor x = tensor<std::int64_t>(graph, {3}, {-5, 1, 5});
  EXPECT_THAT(values(clip(x, 0.5, 2.5)), ElementsAre(1, 1, 2));
  EXPECT_THAT(values(clip(x, -inf, 2)), ElementsAre(-5, 1, 2));
  Tensor bytes = tensor<std::uint8_t>(graph, {2}, {0, 255});
  EXPECT_THAT(values(clip(bytes, -7, 300)), ElementsAre(0, 255));
}

TEST(Activations, Errors) {
  Graph graph;
  Tensor x = tensor<float>(graph, {1}, {1}), i = tensor<std::int64_t>(graph, {1}, {1});
  EXPECT_EQ(error_of([&] { clip(x, 2, 1); }),
            "clip: no f32 lies between 2 and 1; low must not be above high");
  EXPECT_EQ(error_of([&] { clip(i, 0.25, 0.75); }),
            "clip: no i64 lies between 1 and 0; low must not be above high");
  EXPECT_EQ(error_of([&] { clip(x, nan, 1); }),
            "clip: no f32 lies between nan and 1; low must not be above high");
  EXPECT_EQ(error_of([&] { softplus(x, {.beta = 0}); }), "softplus: beta must be above 0, got 0");
}

}  // namespace
}  // namespace belfry::testing
