#include "training_testing.h"

namespace belfry {
namespace {

TEST(TemporaryModelDir, TrainingMakesOneAndSaysSo) {
  namespace fs = std::filesystem;
  CapturedLog log;
  std::string made;
  {
    Estimator estimator({.model_fn = falling, .run = quiet()});
    made = estimator.model_dir();
    estimator.plan(over_and_over({one_point()}), {.steps = 1});
    estimator.summary(over_and_over({one_point()}));
    EXPECT_FALSE(fs::exists(made));
    EXPECT_EQ(log.warnings, "");
    estimator.train(over_and_over({one_point()}), {.steps = 1});
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
  }
  EXPECT_TRUE(fs::is_directory(made));
  EXPECT_EQ(log.warnings, "model_dir: none was given, using " + made + "\n");
  std::filesystem::remove_all(made);
  {  // one that saves nothing
    Estimator estimator({.model_fn = falling, .run = saving_nothing()});
    made = estimator.model_dir();
    estimator.train(over_and_over({one_point()}), {.steps = 1});
    EXPECT_TRUE(fs::exists(made));
  }
  EXPECT_FALSE(fs::exists(made));
  log.warnings.clear();
  for (RunConfig wrong : {RunConfig{.devices = {"tpu"}}, RunConfig{.threads = -1}})
    EXPECT_NE(error_of([&] { Estimator({.model_fn = falling, .run = wrong}); }), "no error");
  EXPECT_EQ(log.warnings, "");
}

}  // namespace
}  // namespace belfry
