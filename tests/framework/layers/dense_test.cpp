#include "belfry/framework/layers/layers.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

const std::map<std::string, Array> weights{
    {"fc/kernel", Array::of({1.0f, 0.0f, 2.0f, 0.0f, 1.0f, -1.0f}, {2, 3})},
    {"fc/bias", Array::of({10.0f, 20.0f, 30.0f})}};

TEST(Dense, MultipliesAndAddsTheBias) {
  Graph graph;
  Tensor x = tensor(graph, {2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor y = dense(Scope(graph) / "fc", x, {.units = 3});
  EXPECT_EQ(to_string(y.type()), "f32[2, 3]");
  EXPECT_THAT(values(y, weights), ElementsAre(11, 22, 30, 13, 24, 32));
}

TEST(Dense, WorksOnTheLastAxisOfAnyRank) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 1, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor y = dense(Scope(graph) / "fc", x, {.units = 3});
  EXPECT_EQ(to_string(y.type()), "f32[1, 2, 1, 3]");
  EXPECT_THAT(values(y, weights), ElementsAre(11, 22, 30, 13, 24, 32));
}

TEST(Dense, WithoutBiasThereIsNoVariableForIt) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {1.0, 2.0});
  Tensor y =
      dense(Scope(graph) / "fc", x, {.units = 1, .use_bias = false, .kernel_initializer = ones()});
  EXPECT_THAT(values(y), ElementsAre(3));
  ASSERT_EQ(graph.variables().size(), 1u);
  EXPECT_EQ(Variable(*graph.variables()[0]).name(), "fc/kernel");
  EXPECT_EQ(to_string(Variable(*graph.variables()[0]).type()), "f64[2, 1]");
}

TEST(Dense, VariablesStartAsTheInitializersSay) {
  Graph graph;
  dense(Scope(graph) / "a", tensor(graph, {1, 2}, {1.0f, 2.0f}), {.units = 3});
  dense(Scope(graph) / "b", tensor(graph, {1, 2}, {1.0f, 2.0f}),
        {.units = 3, .kernel_initializer = he_normal(), .bias_initializer = ones()});
  auto initializer = [&](std::string_view name) {
    return to_string(Variable(*graph.find_variable(name)).options().initializer);
  };
  EXPECT_EQ(initializer("a/kernel"), to_string(glorot_uniform()));
  EXPECT_EQ(initializer("a/bias"), to_string(zeros()));
  EXPECT_EQ(initializer("b/kernel"), to_string(he_normal()));
  EXPECT_EQ(initializer("b/bias"), to_string(ones()));
}

TEST(Dense, ItsNodesAreInItsScopeAndOnItsDevice) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2}, {1.0f, 2.0f});
  Tensor a = dense(Scope(graph) / "a", x, {.units = 3});
  Tensor b = dense((Scope(graph) / "b").on(1), a, {.units = 2});
  EXPECT_EQ(a.node().scope(), "a");
  EXPECT_EQ(b.node().scope(), "b");
  EXPECT_EQ(b.node().input(0).node().scope(), "b");
  EXPECT_EQ(b.node().device(), 1);
}

TEST(Dense, TakesAnEmptyBatch) {
  Graph graph;
  Tensor y = dense(Scope(graph) / "fc", constant(graph, Array::zeros({0, 4, 2})), {.units = 3});
  EXPECT_EQ(y.shape(), (Shape{0, 4, 3}));
  EXPECT_TRUE(values(y).empty());
}

TEST(Dense, GradientsAgreeWithDifferences) {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 5}})
    EXPECT_EQ(check_op({.build =
                            [](const Scope& s, std::span<const Tensor> x) {
                              return std::vector{dense(s / "fc", x[0], {.units = 4})};
                            },
                        .inputs = {noise(shape)}}),
              "");
}

TEST(Dense, ErrorsSayWhatAndWhere) {
  Graph graph;
  Scope s = Scope(graph) / "fc1";
  auto error = [&](Tensor x, DenseOptions o) { return error_of([&] { dense(s, x, o); }); };
  Tensor x = tensor(graph, {1, 2}, {1.0f, 2.0f});
  EXPECT_EQ(error(x, {.units = 0}), "dense: units must be at least 1, got 0 (at fc1)");
  EXPECT_EQ(error(x, {.units = std::int64_t{1} << 60}),
            "shape: [2, 1152921504606846976]: more elements than a 64-bit count of bytes can hold "
            "(at fc1)");
  EXPECT_EQ(error(tensor(graph, {2}, {1.0f, 2.0f}), {.units = 1}),
            "dense: x must have at least 2 axes, got f32[2] (at fc1)");
  EXPECT_EQ(error(tensor(graph, {1, 2}, {1, 2}), {.units = 1}),
            "dense: x must be of a floating type, got i32[1, 2]; cast it first (at fc1)");
  EXPECT_EQ(error(constant(graph, Array::zeros({2, 0})), {.units = 1}),
            "dense: the last axis of x has no elements, got f32[2, 0] (at fc1)");
  EXPECT_EQ(error_of([&] { dense(Scope(graph), x, {.units = -1}); }),
            "dense: units must be at least 1, got -1 (at the root scope)");
  dense(s, x, {.units = 1});
  EXPECT_THAT(error(x, {.units = 1}), HasSubstr("variable `fc1/kernel` exists already"));
}

}  // namespace
}  // namespace belfry::testing
