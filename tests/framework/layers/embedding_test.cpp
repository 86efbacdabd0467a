#include "belfry/framework/layers/layers.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

TEST(Embedding, LooksRowsUp) {
  Graph graph;
  Tensor ids = tensor<std::int64_t>(graph, {2, 2}, {2, 0, 0, 1});
  Tensor y = embedding(Scope(graph) / "words", ids, {.rows = 3, .width = 2});
  EXPECT_EQ(to_string(y.type()), "f32[2, 2, 2]");
  EXPECT_EQ(y.node().scope(), "words");
  EXPECT_THAT(values(y, {{"words/table", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {3, 2})}}),
              ElementsAre(5, 6, 1, 2, 1, 2, 3, 4));
}

TEST(Embedding, TheTableStartsSmallAndUniform) {
  Graph graph;
  Tensor ids = tensor<std::int32_t>(graph, {1}, {0});
  embedding(Scope(graph) / "a", ids, {.rows = 3, .width = 2});
  embedding(Scope(graph) / "b", ids,
            {.rows = 3, .width = 2, .initializer = ones(), .dtype = DType::f64});
  Variable a(*graph.find_variable("a/table")), b(*graph.find_variable("b/table"));
  EXPECT_EQ(to_string(a.options().initializer), "uniform(-0.05, 0.05)");
  EXPECT_EQ(to_string(b.options().initializer), "constant(1)");
  EXPECT_EQ(to_string(b.type()), "f64[3, 2]");
}

TEST(Embedding, AnIdOutsideTheTableIsAnErrorOfTheStep) {
  Graph graph;
  Tensor y = embedding(Scope(graph) / "words", tensor<std::int64_t>(graph, {3}, {0, 2, 3}),
                       {.rows = 3, .width = 2});
  std::string error = error_of([&] { values(y); });
  EXPECT_THAT(error, HasSubstr("3"));
  EXPECT_THAT(error, HasSubstr("outside 0..2"));
}

TEST(Embedding, ErrorsSayWhatAndWhere) {
  Graph graph;
  Tensor ids = tensor<std::int64_t>(graph, {1}, {0});
  auto error = [&](EmbeddingOptions o) {
    return error_of([&] { embedding(Scope(graph) / "words", ids, o); });
  };
  EXPECT_EQ(error({.rows = 0, .width = 2}), "embedding: rows must be at least 1, got 0 (at words)");
  EXPECT_EQ(error({.rows = 2, .width = -1}),
            "embedding: width must be at least 1, got -1 (at words)");
}

}  // namespace
}  // namespace belfry::testing
