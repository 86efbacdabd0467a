#pragma once
// Common parts of the tests of this folder.

#include <utility>
#include <vector>

#include "../../framework/train/training_testing.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/hooks/evaluate/train_and_evaluate.h"
#include "belfry/hooks/evaluate/validate.h"

namespace belfry {

/// w is 8 - step / 4 for data of ones, and so is the loss. "distance" is |w - 7|: 0.75 at step 1,
/// 0.5, 0.25, 0 at step 4, 0.25, 0.5, ... The prediction "y" is w x.
inline EstimatorSpec passing_seven(Scope s, const Batch& batch, Mode mode) {
  Tensor w = s.variable("w", {.initializer = constant_value(8)});
  if (mode == Mode::predict) return {.predictions = {{"y", w * batch["x"]}}};
  return {.loss = mean(w * batch["x"]),
          .train = sgd({.learning_rate = 0.25}),
          .metrics = {{"distance", mean_metric(abs(w - 7))}}};
}
inline double distance_at(std::int64_t step) {
  return std::abs(1 - 0.25 * static_cast<double>(step));
}

/// Notes the steps at which it is called, and checks that it is shown what they have learnt.
struct Recorder final : Exporter {
  Recorder(std::string n, std::string model_dir)
      : own_name(std::move(n)), root(std::move(model_dir)) {}
  std::string name() const override { return own_name; }
  std::optional<std::string> after_evaluation(const EvaluatedState& state) override {
    EXPECT_EQ(state.result.at("distance"), distance_at(state.step));
    EXPECT_EQ(state.folder, root + "/export/" + own_name);
    steps.push_back(state.step);
    return {};
  }
  std::optional<std::string> at_end(const EvaluatedState& state) override {
    EXPECT_EQ(state.result.at("distance"), distance_at(state.step));
    ends.push_back(state.step);
    return {};
  }
  std::string own_name, root;
  std::vector<std::int64_t> steps, ends;
};

/// "y" of any number of "x" [1].
inline ExportOptions of_x() {
  return {.signatures = {{"predict", {.inputs = {{"x", {{1}, DType::f32}}}}}}, .onnx = false};
}

/// The step whose w an export holds.
inline double exported_step(const std::string& path) {
  Features x{{"x", one_point().at("x")}};
  return 4 * (8 - Predictor::load(path)(x).at("y").item());
}

struct EvaluationTest : testing::Test {
  EstimatorOptions options(RunConfig run = quiet()) const {
    return {.model_fn = passing_seven, .model_dir = dir.path(), .run = std::move(run)};
  }
  /// A fresh estimator each time, as after a restart.
  TrainAndEvaluateResult train(const std::vector<EvalSpec>& evaluations, std::int64_t max_steps,
                               RunConfig run = quiet()) const {
    Estimator estimator(options(std::move(run)));
    return train_and_evaluate(estimator, {input, {.max_steps = max_steps}}, evaluations);
  }
  CapturedLog log;
  TemporaryFolder dir;
  InputFn input = over_and_over({one_point()}), test = once({one_point()});
  std::shared_ptr<Recorder> seen = std::make_shared<Recorder>("seen", dir.path());
};

}  // namespace belfry
