#include <cmath>

#include "belfry/hooks/updates.h"
#include "gradient_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

TEST_F(GradientHooks, ClipByGlobalNorm) {
  GradientStage stage = stage_of(kernel, bias);
  clip_by_global_norm(6.5)->on_gradients(stage);  // of 13
  EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(1.5, 2));
  EXPECT_THAT(values(stage.gradients[1].gradient), ElementsAre(0, 6));
  EXPECT_EQ(error_of([] { clip_by_global_norm(0); }),
            "clip_by_global_norm: max_norm is 0; it must be finite and above 0");
}

TEST_F(GradientHooks, ClipByValue) {
  GradientStage stage = stage_of(kernel, bias);
  clip_by_value(3.5)->on_gradients(stage);
  EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(3, 3.5));
  EXPECT_EQ(error_of([] { clip_by_value(-1); }),
            "clip_by_value: limit is -1; it must be finite and above 0");
}

TEST_F(GradientHooks, TheyFollowEachOtherInTheOrderOfTheList) {
  GradientStage stage = stage_of(kernel, bias);
  clip_by_value(3)->on_gradients(stage);
  edit_gradients([](const Gradients& g) { return Gradients{g[1]}; })->on_gradients(stage);
  EXPECT_THAT(names(stage), ElementsAre("head/bias"));
  EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(0, 3));
  EXPECT_EQ(error_of([] { edit_gradients(nullptr); }), "edit_gradients: the function is empty");
}

TEST_F(GradientHooks, ClipAdaptive) {
  GradientStage stage = stage_of(kernel, bias);
  clip_adaptive({.limit = 0.5})->on_gradients(stage);  // weights of norm sqrt(2)
  EXPECT_NEAR(values(stage.gradients[1].gradient)[1], std::sqrt(0.5), 1e-6);
  EXPECT_EQ(error_of([] { clip_adaptive({.limit = -1}); }),
            "clip_adaptive: limit is -1; it must be finite and above 0");
  EXPECT_EQ(error_of([] { clip_adaptive({.epsilon = 0}); }),
            "clip_adaptive: epsilon is 0; it must be finite and above 0");
}

TEST_F(GradientHooks, CentralizeGradients) {
  Variable matrix = scope.variable("matrix", {.shape = Shape{2, 1}});
  GradientStage stage =
      stage_of(kernel, constant(graph, Array::of({3.0f, 4.0f})), bias, kernel.value());
  stage.gradients.push_back({matrix, constant(graph, Array::of({1.0f, 5.0f}, Shape{2, 1}))});
  centralize_gradients()->on_gradients(stage);
  EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(3, 4));  // of rank 1: left alone
  EXPECT_THAT(values(stage.gradients[2].gradient), ElementsAre(-2, 2));
}

TEST_F(GradientHooks, GradientNoise) {
  GradientStage stage = stage_of(kernel, bias);
  gradient_noise({.eta = 0.25, .gamma = 2})->on_gradients(stage);
  Gradients expected =
      add_gradient_noise(stage_of(kernel, bias).gradients, {.eta = 0.25, .gamma = 2});
  EXPECT_EQ(values(stage.gradients[0].gradient), values(expected[0].gradient));
  EXPECT_NE(values(stage.gradients[0].gradient)[0], 3);
  EXPECT_EQ(error_of([] { gradient_noise({.eta = -1}); }),
            "add_gradient_noise: eta is -1; it must be finite and above 0");
  EXPECT_EQ(error_of([] { gradient_noise({.gamma = std::nan("")}); }),
            "add_gradient_noise: gamma is nan; it must be finite and at least 0");
}

TEST_F(GradientHooks, UnscaleGradients) {
  GradientStage stage = stage_of(kernel, bias);
  unscale_gradients(8)->on_gradients(stage);
  EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(0.375, 0.5));
  EXPECT_THAT(values(stage.gradients[1].gradient), ElementsAre(0, 1.5));
  EXPECT_EQ(error_of([] { unscale_gradients(0); }),
            "unscale: scale is 0; it must be finite and above 0");
}

TEST_F(GradientHooks, UnscalingUndoesALossThatIsScaled) {
  Tensor loss = sum(square(kernel)) * 0.25;
  for (double scale : {1.0, 1024.0}) {
    Update update = minimize(loss * scale, sgd(), {kernel});
    GradientStage stage{update, compute_gradients(update)};
    unscale_gradients(scale)->on_gradients(stage);
    EXPECT_THAT(values(stage.gradients[0].gradient), ElementsAre(0.5, 0.5));
  }
}

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
