
#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "training.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

struct ClipWeights : testing::Test {
  Graph graph;
  Scope scope{graph};
  Variable w = scope.variable("w", {.initializer = constant_value(8)});
  // Falls by 1 in each step, unless it is clipped.
  Update falling =
      minimize(w.value() * 4.0, clip_weights(sgd({.learning_rate = 0.25}), {.limit = 1.5}), {w});
};

TEST_F(ClipWeights, KeepsWhatTheUpdateLeavesInside) {
  apply_gradients(falling, compute_gradients(falling));
  Training training(graph, {falling.loss});
  for (double expected : {1.5, 0.5, -0.5, -1.5, -1.5}) {
    training.step();
    EXPECT_THAT(training.variable("w"), ElementsAre(expected));
  }
  EXPECT_EQ(training.output(), -6);  // what the last step has read
}

TEST_F(ClipWeights, LeavesSlotsAndOtherVariablesAlone) {
  Variable other = scope.variable("other", {.initializer = constant_value(9)});
  Update update = minimize(w.value() * 4.0 + other.value(),
                           clip_weights(momentum({.learning_rate = 0.25, .momentum = 0.5})), {w});
  EXPECT_EQ(update.title(), "momentum");
  apply_gradients(update, compute_gradients(update));
  Training training(graph, {update.loss, other});
  training.step();
  training.step();
  EXPECT_THAT(training.variable("w"), ElementsAre(double{-0.01f}));
  EXPECT_THAT(training.variable("w/momentum/accumulator"), ElementsAre(6));
  EXPECT_THAT(training.variable("other"), ElementsAre(9));
}

TEST_F(ClipWeights, AnUpdateThatIsHeldBackClipsNothing) {
  Tensor go = input(graph, "go", {{}, DType::boolean});
  apply_gradients(falling, compute_gradients(falling), go);
  Training training(graph, {falling.loss});
  training.step({{"go", Array::scalar(false)}});
  EXPECT_THAT(training.variable("w"), ElementsAre(8));
  training.step({{"go", Array::scalar(true)}});
  EXPECT_THAT(training.variable("w"), ElementsAre(1.5));
}

TEST_F(ClipWeights, MovingAveragesTakeTheClippedValue) {
  apply_gradients(falling, compute_gradients(falling));
  add_moving_averages({&w, 1}, {.decay = 0.5});
  Training training(graph, {falling.loss});
  training.step();
  EXPECT_THAT(training.variable("w/moving_average"), ElementsAre(1.5));
}

TEST_F(ClipWeights, ClipsEachVariableWhereItIs) {
  Variable far = (scope / "x").on(1).variable("v", {.dtype = DType::f64});
  Update update = minimize(w.value() + cast(far, DType::f32), clip_weights(sgd()), {w, far});
  apply_gradients(update, compute_gradients(update));
  std::vector<int> slots;
  for (Node* effect : graph.effects())
    if (effect->op().name == "clip_update") slots.push_back(effect->device());
  EXPECT_THAT(slots, ElementsAre(0, 1));
}

TEST_F(ClipWeights, LimitsThatAreNotAboveZeroAreRefused) {
  for (double limit : {0.0, -1.0, std::nan("")})
    EXPECT_THAT(
        [&] { clip_weights(sgd(), {.limit = limit}); },
        Throws<Error>(testing::Property(&Error::what, HasSubstr("clip_weights: limit is"))));
}

}  // namespace
}  // namespace belfry
