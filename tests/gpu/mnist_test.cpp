// LeNet on a GPU: steps whose losses are known, and what it learns.

#include "../framework/backend/cuda/training/training_on_gpu.h"
#include "../framework/train/golden.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

void expect_known(const std::vector<Features>& batches, const std::vector<double>& expected,
                  std::int64_t steps) {
  for (bool capture : {false, true}) {
    RunConfig config = on("cuda");
    config.capture_steps = capture;
    std::vector<double> seen = golden::losses_of(config, batches, steps);
    EXPECT_EQ(seen.size(), steps);
    golden::expect_losses(seen, expected, capture ? "captured" : "eager");
  }
}

TEST(GpuGolden, StepsOfLeNet) {
  expect_known(golden::bars(), golden::losses_on_bars, golden::steps_without_ties);
}

TEST(GpuGolden, TenStepsOfMnist) {
  std::string why, folder = golden::mnist_folder(why);
  if (folder.empty()) GTEST_SKIP() << why;
  expect_known(golden::mnist(folder), golden::losses_on_mnist, 10);
}

// The model, pipeline and schedule of examples/mnist, which reach 99.3 % on a CPU.
TEST(GpuMnist, IsLearntTo99Point2Percent) {
  std::string why, folder = golden::mnist_folder(why);
  if (folder.empty()) GTEST_SKIP() << why;
  Dataset train = data::mnist(folder, data::Split::train) | data::shuffle(60'000, {.seed = 1})
                  | data::repeat() | data::batch(128) | data::prefetch();
  Dataset test = data::mnist(folder, data::Split::test) | data::batch(500);
  Schedule rate = exponential_decay({.initial = 1e-3, .decay_steps = 1000, .decay_rate = 0.5});
  RunConfig config = quiet();
  config.devices = {"cuda:0"};
  TemporaryFolder dir;
  Estimator classifier({.model_fn = models::lenet({.optimizer = adam({.learning_rate = rate})}),
                        .model_dir = dir.path(),
                        .run = config});
  TrainResult trained = classifier.train(train, {.max_steps = 4000});
  double accuracy = classifier.evaluate(test).at("accuracy");
  std::cout << "accuracy " << accuracy << ", " << trained.examples_per_second << " examples/s\n";
  EXPECT_GE(accuracy, 0.992);
}

}  // namespace
}  // namespace belfry
