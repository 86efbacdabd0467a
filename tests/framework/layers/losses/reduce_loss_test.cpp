#include <cmath>

#include "../layers_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/ops.h"

namespace belfry::testing {
namespace {

TEST(ReduceLoss, EachReductionByHand) {
  Graph graph;
  Tensor l = tensor(graph, {4}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor w = tensor(graph, {4}, {0.0f, 2.0f, 0.0f, 0.5f});
  auto reduced = [&](Reduction r) { return values(reduce_loss(l, r, w)); };
  EXPECT_THAT(reduced(Reduction::none), ElementsAre(0, 4, 0, 2));
  EXPECT_THAT(reduced(Reduction::sum), ElementsAre(6));
  EXPECT_THAT(reduced(Reduction::mean), ElementsAre(1.5));
  EXPECT_THAT(reduced(Reduction::weighted_mean), near_values({2.4}));
  EXPECT_THAT(reduced(Reduction::mean_by_nonzero_weights), ElementsAre(3));
}

TEST(ReduceLoss, WithoutWeightsAllMeansAreOne) {
  Graph graph;
  Tensor l = tensor(graph, {2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_EQ(reduce_loss(l, Reduction::none), l);
  EXPECT_THAT(values(reduce_loss(l, Reduction::sum)), ElementsAre(10));
  for (Reduction r :
       {Reduction::mean, Reduction::weighted_mean, Reduction::mean_by_nonzero_weights})
    EXPECT_THAT(values(reduce_loss(l, r)), ElementsAre(2.5)) << to_string(r);
}

TEST(ReduceLoss, WeightsOfLeadingAxesWeighAllBelow) {
  Graph graph;
  Tensor l = tensor(graph, {2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor w = tensor(graph, {2}, {3, 0});
  EXPECT_THAT(values(reduce_loss(l, Reduction::none, w)), ElementsAre(3, 6, 0, 0));
  EXPECT_THAT(values(reduce_loss(l, Reduction::mean, w)), ElementsAre(2.25));
  EXPECT_THAT(values(reduce_loss(l, Reduction::weighted_mean, w)), ElementsAre(1.5));
  EXPECT_THAT(values(reduce_loss(l, Reduction::mean_by_nonzero_weights, w)), ElementsAre(4.5));
}

TEST(ClassWeights, AreThoseOfTheLabels) {
  Graph graph;
  Tensor labels = constant(graph, Array::of<std::int64_t>({2, 0, 2, 1}, {2, 2}));
  Tensor found = class_weights(labels, {1, 0.5, 4});
  EXPECT_EQ(found.type(), (TensorType{{2, 2}, DType::f32}));
  EXPECT_THAT(values(found), ElementsAre(4, 1, 4, 0.5));
  EXPECT_THAT(error_of([&] { class_weights(labels, {}); }),
              ::testing::HasSubstr("class_weights: there are no weights"));
  EXPECT_THAT(error_of([&] {
                class_weights(labels, {1, -1});
              }),
              ::testing::HasSubstr("class_weights: the weight of class 1 is -1"));
}

TEST(ReduceLoss, NoWeightAtAllGivesZeroAndNoNanInTheGradient) {
  Graph graph;
  Tensor l = tensor(graph, {2}, {1.0f, 2.0f}), w = tensor(graph, {2}, {0.0f, 0.0f});
  for (Reduction r : {Reduction::weighted_mean, Reduction::mean_by_nonzero_weights}) {
    Tensor loss = reduce_loss(l, r, w);
    EXPECT_THAT(values(loss), ElementsAre(0)) << to_string(r);
    EXPECT_THAT(values(gradients(loss, std::vector{l})[0]), ElementsAre(0, 0)) << to_string(r);
  }
}

TEST(ReduceLoss, NoLossesGiveZeroByWeights) {
  Graph graph;
  Tensor l = tensor<float>(graph, {0}, {});
  for (Reduction r : {Reduction::weighted_mean, Reduction::mean_by_nonzero_weights})
    for (Tensor weights : {Tensor(), l})
      EXPECT_THAT(values(reduce_loss(l, r, weights)), ElementsAre(0)) << to_string(r);
  EXPECT_TRUE(std::isnan(values(reduce_loss(l, Reduction::mean))[0]));
}

TEST(ReduceLoss, WeightsMustFit) {
  Graph graph;
  Tensor l = tensor(graph, {2}, {1.0f, 2.0f}), w = tensor(graph, {1}, {1.0f});
  EXPECT_EQ(error_of([&] { reduce_loss(l, Reduction::mean, w); }),
            "reduce_loss: weights are f32[1] but must have the shape [2] or that of its leading "
            "axes");
}

TEST(ReduceLoss, ReductionsHaveWords) {
  EXPECT_EQ(to_string(Reduction::none), "none");
  EXPECT_EQ(to_string(Reduction::sum), "sum");
  EXPECT_EQ(to_string(Reduction::mean), "mean");
  EXPECT_EQ(to_string(Reduction::weighted_mean), "weighted_mean");
  EXPECT_EQ(to_string(Reduction::mean_by_nonzero_weights), "mean_by_nonzero_weights");
}

}  // namespace
}  // namespace belfry::testing
