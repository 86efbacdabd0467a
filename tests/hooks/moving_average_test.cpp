
#include <cmath>

#include "belfry/hooks/updates.h"
#include "gradient_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

TEST_F(GradientHooks, AveragesFollowTheUpdate) {
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *moving_average({.decay = 0.5}));
  step();
  EXPECT_THAT(value("encoder/kernel/moving_average"), ElementsAre(-2, -3));
  EXPECT_THAT(value("head/bias/moving_average"), ElementsAre(1, -11));
  step();
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(-5, -7));
  EXPECT_THAT(value("encoder/kernel/moving_average"), ElementsAre(-3.5, -5));
  EXPECT_THAT(value("head/bias/moving_average"), ElementsAre(1, -17));
}

TEST_F(GradientHooks, AveragesWarmUp) {
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *moving_average({.decay = 0.5, .warm_up = true}));
  step();
  step();  // decay 2 / 11, of (-2, -3) and (-5, -7)
  EXPECT_NEAR(value("encoder/kernel/moving_average")[0], -(2 * 2 + 9 * 5) / 11.0, 1e-6);
}

TEST_F(GradientHooks, AveragesOfChosenVariables) {
  auto hook = moving_average({.patterns = {"head/.*"}});
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *hook);
  EXPECT_EQ(error_of([&] { hook->begin(context); }), "no error");
  EXPECT_FALSE(graph.find_variable("encoder/kernel/moving_average"));
  EXPECT_TRUE(graph.find_variable("head/bias/moving_average"));
}

TEST_F(GradientHooks, AveragesOfWhatIsTrained) {
  GradientStage stage = stage_of(kernel, bias);
  freeze({"head/.*"})->on_tower_gradients(stage);
  build(stage, *moving_average());
  EXPECT_TRUE(graph.find_variable("encoder/kernel/moving_average"));
  EXPECT_FALSE(graph.find_variable("head/bias/moving_average"));
}

TEST_F(GradientHooks, AveragesStandStillWhenTheUpdateDoes) {
  GradientStage stage = stage_of(kernel, bias);
  stage.condition = input(graph, "go", {{}, DType::boolean});
  build(stage, *moving_average({.decay = 0.5}));
  step({{"go", Array::scalar(true)}});
  step({{"go", Array::scalar(false)}});
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(-2, -3));
  step({{"go", Array::scalar(true)}});
  EXPECT_THAT(value("encoder/kernel/moving_average"), ElementsAre(-3.5, -5));
}

TEST_F(GradientHooks, MovingAverageRefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { moving_average({.decay = 1}); }),
            "moving_average: decay is 1; it must lie in [0, 1)");
  EXPECT_THAT(error_of([] { moving_average({.patterns = {"*"}}); }),
              testing::StartsWith("moving_average: `*` is no regular expression: "));
  auto hook = moving_average({.patterns = {"head"}});
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *hook);
  EXPECT_EQ(error_of([&] { hook->begin(context); }),
            "moving_average: `head` matches no variable that is trained; they are encoder/kernel, "
            "head/bias");
  hook = moving_average();
  hook->after_apply(stage);
  EXPECT_EQ(error_of([&] { hook->after_apply(stage); }),
            "moving_average: variable `encoder/kernel` has an average already");
}

}  // namespace
}  // namespace belfry::hooks
