// Predictions of another thread while steps run behind the host.

#include <cmath>
#include <thread>

#include "belfry/framework/train/predictions.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

// A round of two sub-steps, which take 1/256 from w and then from v: both are alike after it.
EstimatorSpec twins(Scope s, const Batch& batch, Mode mode) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  Variable v = s.variable("v", {.initializer = constant_value(8)});
  if (mode == Mode::predict)
    return {.predictions = {{"w", w.value()}, {"apart", w.value() - v.value()}}};
  Tensor x = mean(batch["x"]), of_w = w.value() * x, of_v = v.value() * x;
  Optimizer optimizer = sgd({.learning_rate = 0.25});
  return {.loss = of_w + of_v,
          .train = {minimize(of_w, optimizer, {w}), minimize(of_v, optimizer, {v})},
          .round = {{.updates = {0}}, {.updates = {1}, .fresh_batch = false}}};
}

TEST(CudaLivePredictor, PredictsWithWholeSteps) {
  TemporaryFolder folder;
  CapturedLog log;
  Estimator estimator({.model_fn = twins, .model_dir = folder.path(), .run = on("cuda")});
  LivePredictor predict = estimator.predictor();
  auto predicted_step = [&] {
    Features found = predict(one_point());
    EXPECT_EQ(found.at("apart").item(), 0);
    return (8 - found.at("w").item()) * 256;
  };
  TrainControl control;
  std::jthread predictor([&] {
    for (int n = 0; n < 20 || control.progress().step < 20; ++n) {
      double before = static_cast<double>(control.progress().step), step = predicted_step();
      EXPECT_GE(step, before);
      EXPECT_EQ(step, std::floor(step));
    }
    control.request_stop();
  });
  TrainResult result =
      estimator.train(over_and_over({one_point(1.0f / 64)}), {.control = &control});
  predictor.join();
  EXPECT_EQ(predicted_step(), static_cast<double>(result.steps));
}

}  // namespace
}  // namespace belfry
