#include "belfry/framework/ops/ops.h"
#include "support.h"

namespace belfry::testing {
namespace {

const OpDef opaque_op{.name = "opaque", .shape = same_shape};

std::vector<Tensor> grad(Tensor y, std::vector<Tensor> xs) { return gradients(y, xs); }

TEST(Gradients, SumOverAllPaths) {
  Graph graph;
  Tensor x = tensor<double>(graph, {}, {3});
  Tensor y = x * x + 2 * x;  // 2x + 2
  EXPECT_THAT(values(grad(y, {x})[0]), ElementsAre(8));
  EXPECT_THAT(values(grad(y, {y})[0]), ElementsAre(1));
}

TEST(Gradients, OfIntermediateTensorsAndWhatIsBeforeThem) {
  Graph graph;
  Tensor x = tensor<double>(graph, {}, {3});
  Tensor h = x * x, y = h * h;
  auto g = grad(y, {h, x});
  EXPECT_THAT(values(g[0]), ElementsAre(18));   // 2 h
  EXPECT_THAT(values(g[1]), ElementsAre(108));  // 4 x^3
}

TEST(Gradients, OfGradients) {
  Graph graph;
  Tensor x = tensor<double>(graph, {}, {2});
  Tensor y = x * x * x;
  EXPECT_THAT(values(grad(grad(y, {x})[0], {x})[0]), ElementsAre(12));
}

TEST(Gradients, StartFromTheSeed) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2}, {3, 4});
  Tensor seed = tensor<double>(graph, {2}, {10, 100});
  std::vector<Tensor> xs{x};
  EXPECT_THAT(values(gradients(square(x), xs, seed)[0]), ElementsAre(60, 800));
}

TEST(Gradients, AreUndefinedWhereNothingDepends) {
  Graph graph;
  Tensor x = tensor<double>(graph, {}, {3}), other = tensor<double>(graph, {}, {3});
  Tensor whole = tensor<std::int64_t>(graph, {}, {3});
  Tensor y = x * stop_gradient(other) + cast(whole, DType::f64);
  auto g = grad(y, {other, whole, x});
  EXPECT_FALSE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
  EXPECT_THAT(values(g[2]), ElementsAre(3));
  Tensor later = y * 2;
  EXPECT_FALSE(grad(y, {later})[0].defined());
}

TEST(Gradients, KeepScopeAndDeviceOfTheForwardNode) {
  Graph graph;
  Tensor x = input(graph, "x", {{}, DType::f64});
  Placement place{.scope = "tower/layer", .device = 1};
  Tensor y(graph.add(functor::Exp::op, {x}, {}, place));
  std::size_t forward = graph.size();
  grad(y, {x});
  ASSERT_GT(graph.size(), forward);
  for (std::size_t i = forward; i < graph.size(); ++i) {
    EXPECT_EQ(graph.node(i).phase(), Phase::backward);
    EXPECT_EQ(graph.node(i).scope(), "tower/layer");
    EXPECT_EQ(graph.node(i).device(), 1);
  }
}

TEST(Gradients, VisitOnlyPathsToXs) {
  Graph graph;
  Tensor x = tensor<double>(graph, {}, {3}), other = tensor<double>(graph, {}, {5});
  Tensor y = x * apply1(opaque_op, {other});
  std::size_t size = graph.size();
  EXPECT_TRUE(grad(y, {x})[0].defined());
  for (std::size_t i = size; i < graph.size(); ++i)
    EXPECT_NE(graph.node(i).op().name, opaque_op.name);
}

TEST(Gradients, Errors) {
  Graph graph, another;
  Tensor x = tensor<double>(graph, {2}, {1, 2});
  Tensor y(graph.add(opaque_op, {x}, {}, {.scope = "net"}));
  EXPECT_EQ(error_of([&] { grad(sum(y), {x}); }),
            "gradients: opaque (at net) has no gradient; wrap its input in stop_gradient() if none "
            "is meant to flow");
  EXPECT_EQ(error_of([&] { grad(x, {x}); }),
            "gradients: y is f64[2], not a scalar; reduce it with sum() or mean(), or pass a seed");
  EXPECT_EQ(error_of([&] { grad(cast(x, DType::i64), {x}); }),
            "gradients: y is i64[2]; only floating tensors have them");
  EXPECT_EQ(error_of([&] { gradients(x, std::vector<Tensor>{x}, sum(x)); }),
            "gradients: the seed is f64[] but y is f64[2]");
  Tensor foreign = tensor<double>(another, {}, {1});
  EXPECT_EQ(error_of([&] { grad(sum(x), {foreign}); }),
            "gradients: x belongs to another graph than y");
}

}  // namespace
}  // namespace belfry::testing
