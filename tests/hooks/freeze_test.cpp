#include "belfry/hooks/gradient_edits.h"
#include "gradient_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

TEST_F(GradientHooks, FreezeLeavesOutWholeNamesThatMatch) {
  auto hook = freeze({"encoder/.*", "bias"});  // "bias" is no whole name
  GradientStage stage = stage_of(kernel, bias);
  build(stage, *hook);
  EXPECT_THAT(names(stage), ElementsAre("head/bias"));
  step();
  EXPECT_FALSE(store.contains("encoder/kernel"));  // the step does not even ask for it
  EXPECT_THAT(value("head/bias"), ElementsAre(1, -11));
  EXPECT_EQ(error_of([&] { hook->begin(context); }),
            "freeze: `bias` matches no variable that is trained; they are encoder/kernel, "
            "head/bias");
}

TEST_F(GradientHooks, APatternMayBeForOneOfSeveralUpdates) {
  auto hook = freeze({"encoder/.*", "decoder/bias"});
  GradientStage stage = stage_of(kernel, bias);
  hook->on_tower_gradients(stage);
  GradientStage other = stage_of(variable("decoder", "kernel"), variable("decoder", "bias"));
  hook->on_tower_gradients(other);
  EXPECT_THAT(names(other), ElementsAre("decoder/kernel"));
  EXPECT_EQ(error_of([&] { hook->begin(context); }), "no error");
}

TEST_F(GradientHooks, TheNextTrainingIsCheckedToo) {
  auto hook = freeze({"encoder/.*"});
  GradientStage stage = stage_of(kernel, bias);
  hook->on_tower_gradients(stage);
  hook->begin(context);
  hook->end(context, Outcome::finished);
  GradientStage other = stage_of(variable("decoder", "kernel"), variable("decoder", "bias"));
  hook->on_tower_gradients(other);
  EXPECT_EQ(error_of([&] { hook->begin(context); }),
            "freeze: `encoder/.*` matches no variable that is trained; they are decoder/bias, "
            "decoder/kernel");
}

TEST_F(GradientHooks, FreezeRefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { freeze({}); }), "freeze: no pattern is given");
  EXPECT_THAT(error_of([] {
                freeze({"a", "("});
              }),
              testing::StartsWith("freeze: `(` is no regular expression: "));
  GradientStage stage = stage_of(kernel, bias);
  EXPECT_EQ(error_of([&] { freeze({".*"})->on_tower_gradients(stage); }),
            "freeze: nothing is left to train in the update `sgd`");
}

}  // namespace
}  // namespace belfry::hooks
