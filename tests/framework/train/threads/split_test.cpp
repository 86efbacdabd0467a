// Devices and towers side by side, for ThreadSanitizer.

#include "../comparing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

EstimatorSpec two_devices(Scope s, const Batch& batch, Mode mode) {
  Tensor x = relu(dense(s / "encoder", batch["x"], {.units = 8}));
  x = dropout(s / "drop", x, {.rate = 0.25f, .training = mode == Mode::train});
  Tensor logits = dense((s / "head").on(1), x, {.units = 3});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = adam()};
}

TEST(SplitThreads, TrainsAndEvaluates) {
  for (int towers : {1, 2}) {
    TemporaryFolder folder;
    CapturedLog log;
    Estimator estimator(
        {.model_fn = two_devices, .model_dir = folder.path(), .run = on_cpus(towers, 2)});
    TrainResult result =
        estimator.train(over_and_over({labelled_rows(8, 0), labelled_rows(5, 1)}),
                        {.steps = 10, .hooks = {std::make_shared<AsksForMicroBatches>(2)}});
    EXPECT_EQ(result.steps, 10);
    EXPECT_GT(estimator.evaluate(once({labelled_rows(8, 2)})).at("loss"), 0);
  }
}

TEST(SplitThreads, AnErrorEndsEveryDevice) {
  Features bad = labelled_rows(4, 0);
  bad.set("label", Array::of<std::int64_t>({0, 1, 2, 7}));
  for (int towers : {1, 2}) {
    TemporaryFolder folder;
    CapturedLog log;
    Estimator estimator(
        {.model_fn = two_devices, .model_dir = folder.path(), .run = on_cpus(towers, 2)});
    EXPECT_THAT(error_of([&] { estimator.train(over_and_over({bad}), {.steps = 1}); }),
                HasSubstr("label"));
  }
}

}  // namespace
}  // namespace belfry
