#include "belfry/framework/base/file.h"
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
  {  // something was written before: it becomes the user's alone, and is told of
    Estimator estimator({.model_fn = falling, .run = quiet()});
    made = estimator.model_dir();
    fs::create_directory(made);
    fs::permissions(made, fs::perms::all);
    for (int call : {1, 2}) estimator.train(over_and_over({one_point()}), {.steps = call});
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
    EXPECT_EQ(log.warnings, "model_dir: none was given, using " + made + "\n");
    fs::remove_all(made);
  }
  log.warnings.clear();
  {
    Estimator estimator({.model_fn = falling, .run = quiet()});
    made = estimator.model_dir();
    write_file_atomically(made, "a file");
    EXPECT_EQ(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              "model_dir: none was given and no temporary folder could be made at " + made
                  + ": File exists; set EstimatorOptions::model_dir");
    fs::remove(made);
  }
  for (RunConfig wrong : {RunConfig{.devices = {"tpu"}}, RunConfig{.threads = -1}})
    EXPECT_NE(error_of([&] { Estimator({.model_fn = falling, .run = wrong}); }), "no error");
  EXPECT_EQ(log.warnings, "");
}

}  // namespace
}  // namespace belfry
