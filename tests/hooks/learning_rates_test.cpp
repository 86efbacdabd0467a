#include "belfry/hooks/gradient_edits.h"
#include "gradient_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

TEST_F(GradientHooks, TheFirstPatternMultipliesTheLearningRate) {
  auto hook = learning_rates({{"encoder/.*", 0.25}, {".*", 0.5}});
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *hook);
  EXPECT_EQ(error_of([&] { hook->begin(context); }), "no error");
  step();
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(0.25, 0));  // 1 - (3, 4) / 4
  EXPECT_THAT(value("head/bias"), ElementsAre(1, -5));         // 1 - (0, 12) / 2
}

TEST_F(GradientHooks, OtherVariablesKeepTheirsAndHooksMultiply) {
  GradientStage stage = stage_of(kernel, bias);
  learning_rates({{"head/.*", 4}})->on_gradients(stage);
  learning_rates({{"head/bias", 0.125}})->on_gradients(stage);
  EXPECT_EQ(stage.gradients[0].rate, 1);
  EXPECT_EQ(stage.gradients[1].rate, 0.5);
}

TEST_F(GradientHooks, AMultiplierOfZeroHoldsTheVariable) {
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *learning_rates({{"encoder/.*", 0}}));
  step();
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(1, 1));
  EXPECT_THAT(value("head/bias"), ElementsAre(1, -11));
}

TEST_F(GradientHooks, LearningRatesRefuseWhatCannotWork) {
  EXPECT_EQ(error_of([] { learning_rates({}); }), "learning_rates: no pattern is given");
  EXPECT_THAT(error_of([] {
                learning_rates({{"[", 1}});
              }),
              testing::StartsWith("learning_rates: `[` is no regular expression: "));
  EXPECT_EQ(error_of([] {
              learning_rates({{"a", 1}, {"b", -1}});
            }),
            "learning_rates: the multiplier of `b` is -1; it must be finite and at least 0");
  auto hook = learning_rates({{".*", 1}, {"kernel", 2}});
  GradientStage stage = stage_of(kernel, bias);
  hook->on_gradients(stage);
  EXPECT_EQ(error_of([&] { hook->begin(context); }),
            "learning_rates: `kernel` matches no variable that is trained; they are "
            "encoder/kernel, head/bias");
}

}  // namespace
}  // namespace belfry::hooks
