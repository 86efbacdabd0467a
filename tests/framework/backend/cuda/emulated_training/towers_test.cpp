// Towers on several emulated GPUs. Steps are not captured: one GPU's graph cannot wait for
// another's here, as NCCL's kernels do.

#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

RunConfig on_gpus(int count) {
  RunConfig config = quiet();
  config.capture_steps = false;
  config.devices.clear();
  for (int i = 0; i < count; ++i) config.devices.push_back(concat("cuda:", i));
  return config;
}

TEST(EmulatedTowers, LearnWhatCpuTowersLearn) {
  for (int count : {2, 3}) {
    Trained gpus = train_on(on_gpus(count), 8);
    ASSERT_EQ(gpus.losses.size(), 8);
    RunConfig cpus = quiet();
    cpus.devices.clear();
    for (int i = 0; i < count; ++i) cpus.devices.push_back(concat("cpu:", i));
    Trained towers = train_on(cpus, 8);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(gpus.losses[i], towers.losses[i], 2e-5) << i;
  }
}

TEST(EmulatedTowers, GiveTheSameBitsInEveryRun) {
  expect_same(train_on(on_gpus(2), 8), train_on(on_gpus(2), 8));
}

// One tower has the larger part of an odd batch, so that its arena alone moves.
TEST(EmulatedTowers, MayGrowOneByOne) {
  InputFn growing = digits({2, 3, 8, 9, 2, 3, 33});
  RunConfig cpus = quiet();
  cpus.devices = {"cpu:0", "cpu:1"};
  Trained gpus = train_on(on_gpus(2), 14, 0, growing), towers = train_on(cpus, 14, 0, growing);
  for (std::size_t i = 0; i < 14; ++i) EXPECT_NEAR(gpus.losses[i], towers.losses[i], 2e-5) << i;
}

TEST(EmulatedTowers, MayHaveTheirVariablesInOnePlace) {
  RunConfig central = on_gpus(2);
  central.variables = VariablePlacement::central;
  Trained mirrored = train_on(on_gpus(2), 8), together = train_on(central, 8);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(together.losses[i], mirrored.losses[i], 1e-6) << i;
}

// A model split over two GPUs of a tower.
TEST(EmulatedTowers, ASplitModelLearnsWhatAWholeOneDoes) {
  Trained whole = train_on(on("cuda"), 6);
  RunConfig split = on("cuda");
  split.devices = {"cuda:0+cuda:1"};
  split.split = auto_split(2);
  Trained parts = train_on(split, 6);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(parts.losses[i], whole.losses[i], 1e-6) << i;
}

// The towers of a batch that fails have steps under way, of which no other batch may hear.
TEST(EmulatedTowers, AnEvaluationAfterAFailedOneIsItsOwn) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor logits = dense(s / "out", batch["x"], {.units = 4});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = sgd({.learning_rate = 0.1})};
  };
  auto labelled = [](std::int64_t first, std::int64_t second) {
    return Features{{"x", Array::of({1.f, 2.f}, {2, 1})},
                    {"label", Array::of({first, second}, {2})}};
  };
  for (bool first_tower : {true, false}) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on_gpus(2)});
    estimator.train(once({labelled(0, 1)}));
    double loss = estimator.evaluate(once({labelled(0, 1)})).at("loss");
    InputFn bad = once({first_tower ? labelled(9, 1) : labelled(1, 9)});
    EXPECT_THAT(error_of([&] { estimator.evaluate(bad); }), ::testing::HasSubstr("label"));
    EXPECT_EQ(estimator.evaluate(once({labelled(0, 1)})).at("loss"), loss);
  }
}

}  // namespace
}  // namespace belfry
