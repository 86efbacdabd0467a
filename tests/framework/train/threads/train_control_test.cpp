#include <thread>

#include "../training_testing.h"
#include "belfry/framework/train/training.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

// Trains on a thread of its own until it is told to stop.
class Controlled : public ::testing::Test {
 protected:
  void start(TrainOptions options = {}) {
    options.control = &control;
    trainer_ = std::thread(
        [this, options] { result = estimator.train(over_and_over({one_point(0)}), options); });
  }
  void join() { trainer_.join(); }

  template <class Condition>
  void wait_until(Condition condition) {
    while (!condition()) std::this_thread::yield();
  }

  TemporaryFolder dir;
  Estimator estimator{{.model_fn = falling, .model_dir = dir.path(), .run = quiet()}};
  TrainControl control;
  TrainResult result;

 private:
  CapturedLog log_;
  std::thread trainer_;
};

TEST_F(Controlled, StopsWithAReason) {
  start();
  wait_until([&] { return control.progress().step >= 5; });
  control.request_stop("the user closed the window");
  control.request_stop("too late");
  join();
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.reason, "the user closed the window");
  EXPECT_GE(result.global_step, 5);
  EXPECT_EQ(saved_steps(dir.path()).back(), result.global_step);
  TrainProgress progress = control.progress();
  EXPECT_FALSE(progress.running);
  EXPECT_EQ(progress.step, result.global_step);
  EXPECT_EQ(progress.rows, result.examples);
  EXPECT_EQ(progress.loss, 0);
}

TEST_F(Controlled, AStopBeforeTrainingStopsItAtOnce) {
  control.request_stop();
  start();
  join();
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.reason, "the host asked for it");
}

TEST_F(Controlled, PausesAndResumes) {
  control.pause();
  start({.max_steps = 50});
  wait_until([&] { return control.progress().paused; });
  EXPECT_TRUE(control.progress().running);
  EXPECT_EQ(control.progress().step, 0);
  control.resume();
  join();
  EXPECT_EQ(result.global_step, 50);
  EXPECT_FALSE(control.progress().paused);
}

TEST_F(Controlled, SavesWhileItIsPaused) {
  start();
  wait_until([&] { return control.progress().step >= 1; });
  control.pause();
  wait_until([&] { return control.progress().paused; });
  std::int64_t step = control.progress().step;
  control.request_save();
  wait_until([&] { return saved_steps(dir.path()).back() == step; });
  EXPECT_EQ(control.progress().step, step);
  control.request_stop();
  join();
  EXPECT_EQ(result.global_step, step);
}

TEST_F(Controlled, APausedTrainingCanBeStopped) {
  control.pause();
  start();
  wait_until([&] { return control.progress().paused; });
  control.request_stop("enough");
  join();
  EXPECT_EQ(result.reason, "enough");
}

TEST_F(Controlled, SavesOnRequest) {
  start();
  wait_until([&] { return control.progress().step >= 1; });
  control.request_save();
  wait_until([&] { return saved_steps(dir.path()).size() >= 2; });
  control.request_stop();
  join();
  Checkpoint saved = load_checkpoint(checkpoint_path(dir.path(), saved_steps(dir.path())[1]));
  EXPECT_EQ(saved.input, text(saved.step));
}

TEST_F(Controlled, RunningEndsWithAFailureToo) {
  struct Thrower final : Hook {
    void after_step(const StepResult&) override { fail("broken"); }
  };
  EXPECT_THAT(error_of([&] {
                estimator.train(over_and_over({one_point()}),
                                {.hooks = {std::make_shared<Thrower>()}, .control = &control});
              }),
              HasSubstr("broken"));
  EXPECT_FALSE(control.progress().running);
}

TEST(TrainControl, SavesThoughSavingIsOff) {
  TemporaryFolder dir;
  std::string model_dir = dir / "made/later";
  std::filesystem::create_directory(dir / "made");
  Estimator estimator({.model_fn = falling, .model_dir = model_dir, .run = saving_nothing()});
  TrainControl control;
  control.request_save();
  estimator.train(over_and_over({one_point()}), {.steps = 2, .control = &control});
  EXPECT_THAT(saved_steps(model_dir), ::testing::ElementsAre(1));
}

}  // namespace
}  // namespace belfry
