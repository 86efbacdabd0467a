// The rules that a host which runs one step ahead of its GPU must not break.

#include <functional>
#include <thread>

#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EstimatorSpec classifier(Scope s, const Batch& batch, Mode) {
  Tensor logits = dense(s / "out", batch["x"], {.units = 4});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = sgd({.learning_rate = 0.1})};
}

Features labelled(std::initializer_list<std::int64_t> labels) {
  auto rows = static_cast<std::int64_t>(labels.size());
  return {{"x", Array::zeros(Shape{rows, 3}, DType::f32)}, {"label", Array::of(labels)}};
}

class AfterStep final : public Hook {
 public:
  explicit AfterStep(std::function<void(const StepResult&)> call, bool now = false)
      : call_(std::move(call)), now_(now) {}
  bool needs_result_now(HookContext&, std::int64_t) override { return now_; }
  void after_step(const StepResult& result) override { call_(result); }

 private:
  std::function<void(const StepResult&)> call_;
  bool now_;
};

// The step behind it has another shape, so that it must be compiled, which waits for the device.
TEST(CudaTrainingBehind, AFailedStepIsToldBeforeOneOfAnotherShapeBegins) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = classifier, .model_dir = folder.path(), .run = on("cuda")});
  auto recorder = std::make_shared<Recorder>();
  InputFn input = once({labelled({0, 1}), labelled({2, 9}), labelled({1, 2, 3})});
  std::string error = error_of([&] { estimator.train(input, {.hooks = {recorder}}); });
  EXPECT_THAT(error, AllOf(HasSubstr("label at row 1"), HasSubstr("step 2")));
  EXPECT_THAT(recorder->events, ElementsAre("begin 1", "begin 2", "end 1", "begin 3"));
}

TEST(CudaTrainingBehind, AnEvaluationAfterAFailedOneIsItsOwn) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = classifier, .model_dir = folder.path(), .run = on("cuda")});
  estimator.train(once({labelled({0, 1})}));
  double loss = estimator.evaluate(once({labelled({0, 1})})).at("loss");
  InputFn bad = once({labelled({0, 1}), labelled({2, 9})});
  EXPECT_THAT(error_of([&] { estimator.evaluate(bad); }), HasSubstr("label"));
  EXPECT_EQ(estimator.evaluate(once({labelled({0, 1})})).at("loss"), loss);
}

TEST(CudaTrainingBehind, AHookThatSavesSaysSoBeforehand) {
  for (bool now : {false, true}) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
    auto saver = std::make_shared<AfterStep>(
        [](const StepResult& result) {
          if (result.step == 2) result.context.save_checkpoint();
        },
        now);
    auto train = [&] {
      estimator.train(over_and_over({one_point()}), {.max_steps = 4, .hooks = {saver}});
    };
    if (now) {
      train();
      EXPECT_EQ(load_checkpoint(checkpoint_path(folder.path(), 2)).step, 2);
    } else {
      EXPECT_THAT(error_of(train), HasSubstr("needs_result_now"));
    }
  }
}

// Its last result is seen when the data have ended; the hook's reason still counts.
TEST(CudaTrainingBehind, AHookMayStopInTheLastStepOfTheData) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
  auto stop = std::make_shared<AfterStep>([](const StepResult& result) {
    if (result.step == 3) result.context.request_stop("good enough");
  });
  TrainResult result =
      estimator.train(once({one_point(), one_point(), one_point()}), {.hooks = {stop}});
  EXPECT_EQ(result.reason, "good enough");
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.global_step, 3);
}

TEST(CudaTrainingBehind, WhoPausesSeesAllThatHasRun) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
  TrainControl control;
  std::int64_t seen = 0, seen_in_pause = 0;
  auto pause = std::make_shared<AfterStep>([&](const StepResult& result) {
    seen = result.step;
    if (result.step == 1) control.pause();
  });
  std::thread host([&] {
    while (!control.progress().paused) std::this_thread::yield();
    seen_in_pause = seen;
    control.resume();
  });
  estimator.train(over_and_over({one_point()}),
                  {.max_steps = 4, .hooks = {pause}, .control = &control});
  host.join();
  EXPECT_EQ(seen_in_pause, 2);  // the one under way when the hook asked
  EXPECT_EQ(seen, 4);
}

}  // namespace
}  // namespace belfry
