// Covers gradient hooks in whole trainings.
#include "../framework/train/training_testing.h"
#include "belfry/hooks/hooks.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

// Kernel and bias of `linear`, from 0, after trainings up to these steps at (1, 1): the gradients
// of the first are -2 and the rate is 1/4.
std::vector<double> trained(const Hooks& list, std::vector<std::int64_t> max_steps = {1}) {
  TemporaryFolder dir;
  EstimatorOptions options{.model_fn = linear, .model_dir = dir.path(), .run = quiet()};
  for (std::int64_t steps : max_steps)
    Estimator(options).train(over_and_over({one_point()}), {.max_steps = steps, .hooks = list});
  Estimator estimator(options);
  return {scalar(estimator, "line/kernel"), scalar(estimator, "line/bias")};
}

TEST(GradientHooksInTraining, ChangeTheStep) {
  EXPECT_THAT(trained({}), ElementsAre(0.5, 0.5));
  EXPECT_THAT(trained({clip_by_value(1)}), ElementsAre(0.25, 0.25));
  EXPECT_THAT(trained({freeze({"line/bias"})}), ElementsAre(0.5, 0));
  EXPECT_THAT(trained({learning_rates({{".*/bias", 0.5}})}), ElementsAre(0.5, 0.25));
  EXPECT_THAT(trained({unscale_gradients(4)}), ElementsAre(0.125, 0.125));
  EXPECT_THAT(trained({unscale_gradients(4), clip_by_value(0.25)}), ElementsAre(0.0625, 0.0625));
}

TEST(GradientHooksInTraining, NoiseIsTheSameWhenResumed) {
  std::vector<double> at_once = trained({gradient_noise()}, {3});
  EXPECT_NE(at_once, trained({}, {3}));
  EXPECT_EQ(at_once, trained({gradient_noise()}, {1, 3}));
}

TEST(GradientHooksInTraining, PatternsThatMatchNothingStopItAtTheBeginning) {
  for (const auto& hook : {freeze({"bias"}), learning_rates({{"bias", 2}})})
    EXPECT_THAT(error_of([&] { trained({hook}); }),
                testing::HasSubstr("`bias` matches no variable that is trained; they are "
                                   "line/bias, line/kernel"));
}

}  // namespace
}  // namespace belfry::hooks
