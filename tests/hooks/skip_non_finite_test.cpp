#include <limits>

#include "belfry/hooks/updates.h"
#include "gradient_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A stage whose first gradient is fed.
struct SkipNonFinite : GradientHooks {
  GradientStage fed() {
    return stage_of(kernel, input(graph, "g", {{2}, DType::f32}), bias,
                    constant(graph, Array::of({0.0f, 12.0f})));
  }
  static Features gradient(float a, float b) { return {{"g", Array::of({a, b})}}; }
  /// One step of an update, as the trainer tells the hook about it.
  void tell(Hook& hook, UpdateSet chosen, UpdateSet applied) {
    StepRequest request{
        .context = context, .step = context.finished, .updates = 2, .chosen = chosen};
    hook.before_step(request);
    context.finish_step(hook, {.context = context, .chosen = chosen, .applied = applied});
  }
};

TEST_F(SkipNonFinite, NothingChangesUnlessAllGradientsAreFinite) {
  GradientStage stage = fed();
  build(stage, *skip_non_finite());
  step(gradient(1, 2));
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(0, -1));
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    step(gradient(bad, 2));
    step(gradient(2, bad));
    EXPECT_THAT(value("encoder/kernel"), ElementsAre(0, -1));
    EXPECT_THAT(value("head/bias"), ElementsAre(1, -11));
  }
  step(gradient(0, 1));
  EXPECT_THAT(value("encoder/kernel"), ElementsAre(0, -2));
  EXPECT_THAT(value("head/bias"), ElementsAre(1, -23));
}

TEST_F(SkipNonFinite, KeepsTheConditionThatWas) {
  GradientStage stage = fed();
  stage.condition = input(graph, "go", {{}, DType::boolean});
  build(stage, *skip_non_finite());
  for (bool go : {false, true})
    for (float x : {std::nanf(""), 1.0f}) {
      Features batch = gradient(x, 1);
      batch.set("go", Array::scalar(go));
      step(batch);
      EXPECT_THAT(value("encoder/kernel"), go && x == 1 ? ElementsAre(0, 0) : ElementsAre(1, 1));
    }
}

TEST_F(SkipNonFinite, AnUpdateWithoutGradientsIsLeftAlone) {
  GradientStage stage = fed();
  stage.gradients.clear();
  skip_non_finite()->on_gradients(stage);
  EXPECT_FALSE(stage.condition.defined());
}

TEST_F(SkipNonFinite, LogsEachSkippedStepAndFailsAfterTooMany) {
  auto hook = skip_non_finite({.max_consecutive = 2});
  GradientStage stage = fed();
  hook->on_gradients(stage);
  hook->begin(context);
  CapturedLog log;
  tell(*hook, {0}, {0});
  EXPECT_THAT(log.lines, IsEmpty());
  tell(*hook, {0}, {});
  tell(*hook, {0}, {});
  tell(*hook, {0}, {0});  // begins anew
  tell(*hook, {0}, {});
  tell(*hook, {0}, {});
  EXPECT_THAT(
      log.lines,
      ElementsAre("step 2: skipped the update `sgd`, gradients are not finite (1 skipped so far)",
                  "step 3: skipped the update `sgd`, gradients are not finite (2 skipped so far)",
                  "step 5: skipped the update `sgd`, gradients are not finite (3 skipped so far)",
                  "step 6: skipped the update `sgd`, gradients are not finite (4 skipped so far)"));
  EXPECT_EQ(error_of([&] { tell(*hook, {0}, {}); }),
            "skip_non_finite: the update `sgd` was skipped in 3 steps in a row, up to step 7, "
            "because gradients were not finite; a smaller learning rate or loss scale may help, "
            "and RunConfig::check_numerics names the first op that produced NaN or infinity");
}

TEST_F(SkipNonFinite, CountsEachUpdateInTheStepsItIsChosenFor) {
  auto hook = skip_non_finite({.max_consecutive = 1});
  GradientStage first = fed(), second = stage_of(kernel, bias);
  second.index = 1;
  updates[0]->name = "generator";
  updates[1]->name = "critic";
  hook->on_gradients(first);
  hook->on_gradients(second);
  hook->begin(context);
  CapturedLog log;
  tell(*hook, {0, 1}, {0});
  tell(*hook, {0}, {0});  // the critic rests
  tell(*hook, {1}, {1});
  tell(*hook, {0, 1}, {1});
  EXPECT_THAT(
      log.lines,
      ElementsAre(
          "step 1: skipped the update `critic`, gradients are not finite (1 skipped so far)",
          "step 4: skipped the update `generator`, gradients are not finite (1 skipped so far)"));
  EXPECT_THAT(
      error_of([&] {
        tell(*hook, {0, 1}, {1});
      }),
      testing::StartsWith("skip_non_finite: the update `generator` was skipped in 2 steps"));
}

TEST_F(SkipNonFinite, EachTrainingCountsAnew) {
  auto hook = skip_non_finite({.max_consecutive = 1});
  GradientStage stage = fed();
  hook->on_gradients(stage);
  CapturedLog log;
  for (int i = 0; i < 2; ++i) {
    hook->begin(context);
    tell(*hook, {0}, {});
  }
  EXPECT_THAT(log.lines[1], testing::HasSubstr("(1 skipped so far)"));
}

TEST_F(SkipNonFinite, MaxConsecutiveIsAtLeastOne) {
  EXPECT_EQ(error_of([] { skip_non_finite({.max_consecutive = 0}); }),
            "skip_non_finite: max_consecutive is 0; it must be at least 1");
}

}  // namespace
}  // namespace belfry::hooks
