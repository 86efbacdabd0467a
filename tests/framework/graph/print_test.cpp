#include <gtest/gtest.h>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "test_ops.h"

namespace belfry {
namespace {

// x and a variable, scaled and joined, and an effect.
void build(Graph& graph) {
  Scope s(graph);
  Tensor x = input(graph, "x", {{2}, DType::f32});
  Variable v = (s / "fc").variable("bias", {.shape = {2}});
  Tensor y(apply(join_op, s / "fc" / "inner", {x, v}));
  Node& m = apply(measure_op, s / "size", {y});
  Tensor z(apply(scale_op, {Tensor(m)}, ScaleOptions{.factor = 0.5}));
  assign(v, z);
}

TEST(Print, TextHasALineForEachNode) {
  Graph graph;
  build(graph);
  EXPECT_EQ(to_text(graph),
            "%0 = input() name=x, type=f32[2] : f32[2]\n"
            "%1 = variable() name=fc/bias, type=f32[2], initializer=constant(0), kind=parameter, "
            "over_towers=mirrored : f32[2]  # fc\n"
            "%2 = join(%0, %1) : f32[2]  # fc/inner\n"
            "%3 = measure(%2) : f32[2], i64[]  # size\n"
            "%4 = scale(%3.0) factor=0.5, repeat=1 : f32[2]  # size\n"
            "%5 = assign(%1, %4)  # size\n");
}

TEST(Print, DotGroupsByTheFirstPartOfTheScope) {
  Graph graph;
  build(graph);
  EXPECT_EQ(to_dot(graph),
            "digraph belfry {\n"
            "  node [shape=box];\n"
            "  n0 [label=\"input\"];\n"
            "  subgraph cluster_0 {\n"
            "  label=\"fc\";\n"
            "  n1 [label=\"variable\\nfc\"];\n"
            "  n2 [label=\"join\\nfc/inner\"];\n"
            "  }\n"
            "  subgraph cluster_1 {\n"
            "  label=\"size\";\n"
            "  n3 [label=\"measure\\nsize\"];\n"
            "  n4 [label=\"scale\\nsize\"];\n"
            "  n5 [label=\"assign\\nsize\"];\n"
            "  }\n"
            "  n0 -> n2 [label=\"f32[2]\"];\n"
            "  n1 -> n2 [label=\"f32[2]\"];\n"
            "  n2 -> n3 [label=\"f32[2]\"];\n"
            "  n3 -> n4 [label=\"f32[2]\"];\n"
            "  n1 -> n5 [label=\"f32[2]\"];\n"
            "  n4 -> n5 [label=\"f32[2]\"];\n"
            "}\n");
}

TEST(Print, DotEscapesQuotes) {
  Graph graph;
  apply(scale_op, Scope(graph) / "a\"b\\c", {input(graph, "x", {})});
  EXPECT_NE(to_dot(graph).find("label=\"a\\\"b\\\\c\""), std::string::npos);
}

TEST(Print, AnEmptyGraph) {
  EXPECT_EQ(to_text(Graph()), "");
  EXPECT_EQ(to_dot(Graph()), "digraph belfry {\n  node [shape=box];\n}\n");
}

}  // namespace
}  // namespace belfry
