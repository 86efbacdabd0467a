#include "belfry/hooks/plateau.h"

#include "../framework/train/training_testing.h"

namespace belfry::hooks {
namespace {

using ::testing::HasSubstr;

// w falls by the learning rate in each step, from 8 on.
EstimatorSpec falls(const Plateau& plateau, Scope s, const Batch& batch) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  return {.loss = mean(w.value() * batch["x"]),
          .train = sgd({.learning_rate = plateau.schedule(0.25)})};
}

// Hands the results on, one after each step.
struct Results final : Hook {
  Results(std::shared_ptr<Plateau> p, std::vector<double> r)
      : plateau(std::move(p)), results(std::move(r)) {}
  void after_step(const StepResult& r) override {
    auto at = static_cast<std::size_t>(r.step - 1);
    if (at < results.size()) plateau->add(results[at]);
  }
  std::shared_ptr<Plateau> plateau;
  std::vector<double> results;
};

struct PlateauTest : ::testing::Test {
  // The value of w after so many steps in all.
  double w_after(const PlateauOptions& options, std::vector<double> results, std::int64_t steps) {
    auto hook = plateau(options);
    auto model = [hook](Scope s, const Batch& batch, Mode) { return falls(*hook, s, batch); };
    Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
    estimator.train(
        over_and_over({one_point()}),
        {.max_steps = steps, .hooks = {hook, std::make_shared<Results>(hook, std::move(results))}});
    return scalar(estimator, "w");
  }
  TemporaryFolder dir;
};

// The last two of the results 3, 2, 2, 2 are no better: known after step 4, so that step 6 is the
// first at half the rate. 8 - 5 / 4 - 2 / 8 after 7 steps.
TEST_F(PlateauTest, LowersTheRateWhenNothingGetsBetter) {
  CapturedLog log;
  EXPECT_EQ(w_after({.factor = 0.5, .patience = 2}, {3, 2, 2, 2}, 7), 6.5);
  EXPECT_THAT(log.info,
              HasSubstr("plateau: nothing got better than 2; learning rates are now 0.5 of"));
}

TEST_F(PlateauTest, BetterResultsKeepIt) {
  EXPECT_EQ(w_after({.factor = 0.5, .patience = 2}, {5, 6, 4, 6, 3, 6, 2, 6}, 8), 6);
  TemporaryFolder other;
  std::filesystem::remove_all(dir.path());
  EXPECT_EQ(w_after({.factor = 0.5, .patience = 2, .better = Better::higher},
                    {1, 2, 1, 3, 1, 4, 1, 5}, 8),
            6);
}

// Lowered to a fourth, but to no less than an eighth in all: known after step 2, so from step 4 on
// 1/16; the three results behind it cool down; known after step 6, so from step 8 on 1/32.
TEST_F(PlateauTest, CoolsDownAndEndsAtTheLeast) {
  EXPECT_EQ(w_after({.factor = 0.25, .patience = 1, .cooldown = 3, .least = 0.125},
                    {1, 1, 1, 1, 1, 1, 1}, 10),
            8 - 3 / 4. - 4 / 16. - 3 / 32.);
}

// Interrupted between the decision and the step that it counts for.
TEST_F(PlateauTest, GoesOnWhereItStopped) {
  std::vector<double> results{3, 2, 2, 2};
  PlateauOptions options{.factor = 0.5, .patience = 2};
  for (std::int64_t steps : {1, 3, 4, 5, 7}) {
    double w = w_after(options, results, steps);
    EXPECT_EQ(w, steps <= 5 ? 8 - steps / 4. : 6.5);
  }
}

TEST(Plateau, OptionsOutOfRange) {
  EXPECT_EQ(error_of([] { plateau({.factor = 1}); }),
            "plateau: factor is 1; it must lie between 0 and 1");
  EXPECT_EQ(error_of([] { plateau({.patience = 0}); }),
            "plateau: patience is 0; it must be at least 1");
}

// One result more would be too many to count.
TEST(Plateau, ACheckpointWithoutRoomForCountingIsAnError) {
  auto hook = plateau();
  EXPECT_THAT(
      error_of([&] {
        hook->restore(R"({"best": 1, "waited": 9223372036854775807, "cooling": 0, "lower": false,
                          "decided": false})");
      }),
      HasSubstr("`waited` must be in 0..4611686018427387904, got 9223372036854775807"));
  EXPECT_THAT(error_of([&] {
                hook->restore(
                    R"({"best": 1, "waited": 0, "cooling": -1, "lower": false, "decided": false})");
              }),
              HasSubstr("`cooling` must be in 0..4611686018427387904, got -1"));
}

}  // namespace
}  // namespace belfry::hooks
