// An Estimator on a GPU, emulated or real. An emulated one runs everything as late as CUDA allows.

#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CudaTraining, LearnsWhatTheCpuLearns) {
  Trained cpu = train_on(on("cpu"), 14), gpu = train_on(on("cuda"), 14);
  ASSERT_EQ(gpu.losses.size(), 14);
  for (std::size_t i = 0; i < 14; ++i) EXPECT_NEAR(gpu.losses[i], cpu.losses[i], 2e-5) << i;
}

TEST(CudaTraining, CapturedStepsGiveTheSameBits) {
  RunConfig eager = on("cuda");
  eager.capture_steps = false;
  expect_same(train_on(on("cuda"), 14), train_on(eager, 14));
}

// 6 batches an epoch, the last of another shape: two plans, each captured in its second step.
TEST(CudaTraining, ReadingEachResultAtOnceGivesTheSameBits) {
  expect_same(train_on(on("cuda"), 9), train_on(on("cuda"), 9, 1));
}

TEST(CudaTraining, TheNextStepBeginsBeforeTheResultIsRead) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
  auto recorder = std::make_shared<Recorder>(3);
  estimator.train(over_and_over({one_point()}), {.max_steps = 5, .hooks = {recorder}});
  EXPECT_THAT(recorder->events, ElementsAre("begin 1", "begin 2", "end 1", "begin 3", "end 2",
                                            "end 3", "begin 4", "begin 5", "end 4", "end 5"));
  EXPECT_THAT(recorder->losses, ElementsAre(8, 7.75, 7.5, 7.25, 7));
}

TEST(CudaTraining, AHostThatStepsSeesEachResult) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
  Training training = estimator.start(over_and_over({one_point()}), {.max_steps = 3});
  for (double loss : {8.0, 7.75, 7.5}) {
    ASSERT_TRUE(training.step());
    EXPECT_EQ(training.result().loss, loss);
  }
  EXPECT_FALSE(training.step());
  training.finish();
}

TEST(CudaTraining, ResumesExactly) {
  Trained whole = train_on(on("cuda"), 11);
  TemporaryFolder folder;
  for (std::int64_t until : {4, 11}) {
    Estimator estimator(
        {.model_fn = resuming_model, .model_dir = folder.path(), .run = on("cuda")});
    estimator.train(digits(), {.max_steps = until});
    if (until < 11) continue;
    for (const auto& [name, value] : whole.variables)
      EXPECT_TRUE(identical(estimator.variable_value(name), value)) << name;
  }
}

TEST(CudaTraining, EvaluatesAndPredictsAsTheCpu) {
  TemporaryFolder folder;
  Estimator gpu({.model_fn = linear, .model_dir = folder.path(), .run = on("cuda")});
  gpu.train(over_and_over({points({1, 2}, {3, 5})}), {.max_steps = 4});
  Estimator cpu({.model_fn = linear, .model_dir = folder.path(), .run = on("cpu")});
  InputFn test = once({points({1, 2, 3}, {1, 2, 3}), points({4}, {4})});
  EXPECT_NEAR(gpu.evaluate(test).at("error"), cpu.evaluate(test).at("error"), 1e-6);
  auto a = gpu.predict(test), b = cpu.predict(test);
  Features from_gpu, from_cpu;
  int rows = 0;
  for (; a.next(from_gpu) && b.next(from_cpu); ++rows)
    EXPECT_NEAR(from_gpu.at("y").at(0), from_cpu.at("y").at(0), 1e-6);
  EXPECT_EQ(rows, 4);
}

TEST(CudaTraining, ABadLabelIsAnErrorThatNamesIt) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor logits = dense(s / "out", batch["x"], {.units = 4});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = sgd({.learning_rate = 0.1})};
  };
  Features bad{{"x", Array::zeros(Shape{2, 3}, DType::f32)},
               {"label", Array::of({std::int64_t{1}, std::int64_t{9}}, {2})}};
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on("cuda")});
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({bad}), {.max_steps = 3}); }),
              HasSubstr("label"));
}

TEST(CudaTraining, AModelThatDoesNotFitIsRefusedWithTheBatchThatWould) {
  TemporaryFolder folder;
  RunConfig config = on("cuda");
  config.memory_limit = Bytes(2'000'000);
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = relu(dense(s / "wide", batch["x"], {.units = 500}));
    return {.loss = mean(square(dense(s / "out", x, {.units = 1}))),
            .train = sgd({.learning_rate = 0.1})};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  Features batch{{"x", Array::zeros(Shape{1000, 10}, DType::f32)}};
  std::string error = error_of([&] { estimator.train(over_and_over({batch}), {.max_steps = 1}); });
  find_device("cuda")->set_memory_limit(Bytes(std::int64_t{1} << 32));
  EXPECT_THAT(error, HasSubstr("instead of 1000 would fit"));
  EXPECT_THAT(error, HasSubstr("wide"));
}

}  // namespace
}  // namespace belfry
