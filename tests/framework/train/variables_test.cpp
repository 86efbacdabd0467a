// Which variables a model may have: those of the training's first plan.

#include <algorithm>

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x w + b in a scope that depends on the mode.
ModelFn in_scopes(std::string training, std::string otherwise) {
  return [=](Scope s, const Batch& batch, Mode mode) {
    return linear(s / (mode == Mode::train ? training : otherwise), batch, mode);
  };
}

struct TrainingsVariables : ::testing::Test {
  Estimator make(ModelFn model_fn) const {
    return Estimator({.model_fn = std::move(model_fn), .model_dir = dir.path(), .run = quiet()});
  }
  TemporaryFolder dir;
  CapturedLog log;
  InputFn data = once({one_point(), one_point()});
};

TEST_F(TrainingsVariables, OfAnotherModeAreAnErrorAfterTraining) {
  Estimator estimator = make(in_scopes("fc1", "fc_1"));
  estimator.train(data);
  std::string table =
      "does not fit the model:\n"
      "  missing: `fc_1/line/kernel` f32[1, 1], the nearest: fc1/line/kernel, "
      "fc1/line/bias\n"
      "  missing: `fc_1/line/bias` f32[1], the nearest: fc1/line/bias, fc1/line/kernel\n"
      "  left over: `fc1/line/bias` f32[1]\n"
      "  left over: `fc1/line/kernel` f32[1, 1]\n";
  EXPECT_THAT(
      error_of([&] { estimator.evaluate(data); }),
      AllOf(HasSubstr("what is trained " + table), HasSubstr("VariableArgs::outside_training")));
  Features row;
  EXPECT_THAT(error_of([&] { estimator.predict(data).next(row); }), HasSubstr(table));
  EXPECT_THAT(error_of([&] { make(in_scopes("fc1", "fc_1")).evaluate(data); }),  // after a restart
              HasSubstr("/checkpoint-2.safetensors " + table));
  EXPECT_THAT(estimator.variable_names(), ElementsAre("fc1/line/bias", "fc1/line/kernel"));
}

TEST_F(TrainingsVariables, OfAnotherModeAreAnErrorBeforeTheFirstStep) {
  Estimator estimator = make(in_scopes("fc1", "fc_1"));
  estimator.evaluate(data);
  EXPECT_THAT(
      error_of([&] { estimator.train(data); }),
      AllOf(HasSubstr("missing: `fc_1/line/kernel` f32[1, 1], the nearest: fc1/line/kernel"),
            HasSubstr("(in training step 1)")));
  EXPECT_THAT(saved_steps(dir.path()), ::testing::IsEmpty());
}

TEST_F(TrainingsVariables, OfALaterBatchAreAnError) {
  auto by_rows = [](Scope s, const Batch& batch, Mode mode) {
    return linear(s / (batch.rows() == 1 ? "one" : "more"), batch, mode);
  };
  Estimator estimator = make(by_rows);
  EXPECT_THAT(error_of([&] {
                estimator.train(once({one_point(), points({1, 2}, {1, 2})}));
              }),
              AllOf(HasSubstr("what is trained since the first batch does not fit the model:\n"
                              "  missing: `more/line/kernel` f32[1, 1]"),
                    HasSubstr("the same variables for every batch (in training step 2)")));
  EXPECT_THAT(estimator.variable_names(), ElementsAre("one/line/bias", "one/line/kernel"));
}

TEST_F(TrainingsVariables, OfAnotherTrainingAreAnErrorUnlessTheyAreSlots) {
  int trainings = 0;
  auto changes = [&](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(trainings == 2 ? s / "x" : s, batch, mode);
    if (trainings == 1) spec.train = momentum({.learning_rate = 0.25});
    return spec;
  };
  Estimator estimator = make(changes);
  estimator.train(data, {.steps = 1});
  ++trainings;
  estimator.train(data, {.steps = 1});
  EXPECT_EQ(estimator.variable_names().size(), 4u);
  ++trainings;
  EXPECT_THAT(error_of([&] { estimator.train(data, {.steps = 1}); }),
              HasSubstr("the training before does not fit the model:\n  missing: `x/line/kernel`"));
}

// It keeps its first value, and no checkpoint has it.
TEST_F(TrainingsVariables, MayBeMeantForEvaluationAlone) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(s, batch, mode);
    if (mode != Mode::evaluate) return spec;
    Variable offset =
        s.variable("offset", {.initializer = constant_value(3), .outside_training = true});
    spec.metrics.emplace_back("offset", mean_metric(offset.value()));
    return spec;
  };
  Estimator estimator = make(model);
  EXPECT_EQ(estimator.evaluate(data).at("offset"), 3);
  estimator.train(data);
  EXPECT_EQ(estimator.evaluate(data).at("offset"), 3);
  EXPECT_THAT(estimator.variable_names(), ElementsAre("line/bias", "line/kernel"));
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 2)).variables.size(), 2u);
  EXPECT_EQ(make(model).evaluate(data).at("offset"), 3);
}

// A layer may say so in every mode: then the variable is training's.
TEST_F(TrainingsVariables, MayBeOutsideAndInTrainingToo) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(s, batch, mode);
    Variable steps =
        s.variable("steps", {.kind = VariableKind::statistic, .outside_training = true});
    if (mode == Mode::train) assign(steps, steps + 1);
    if (mode == Mode::evaluate) spec.metrics.emplace_back("steps", mean_metric(steps.value()));
    return spec;
  };
  Estimator follows = make(model);
  EXPECT_EQ(follows.evaluate(data).at("steps"), 0);
  for (int step : {2, 4}) {
    make(model).train(data, {.resume_input = false});
    EXPECT_EQ(follows.evaluate(data).at("steps"), step);
  }
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 4)).variables.at("steps").item(), 4);
}

// Training may do without one that the checkpoint has; whoever has it goes on with its value.
TEST_F(TrainingsVariables, OfTheCheckpointMayBeLeftToEvaluations) {
  bool training_has_it = true;
  auto model = [&](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(s, batch, mode);
    if (mode == Mode::train && !training_has_it) return spec;
    Variable offset =
        s.variable("offset", {.initializer = constant_value(3), .kind = VariableKind::statistic});
    if (mode == Mode::train) assign(offset, offset + 1);
    if (mode == Mode::evaluate) spec.metrics.emplace_back("offset", mean_metric(offset.value()));
    return spec;
  };
  make(model).train(data);
  training_has_it = false;
  Estimator restarted = make(model);
  EXPECT_EQ(restarted.evaluate(data).at("offset"), 5);
  restarted.train(data, {.resume_input = false});
  InputFn other_shapes = once({points({1, 2}, {1, 2})});
  EXPECT_EQ(restarted.evaluate(other_shapes).at("offset"), 5);
}

// A variable that no plan uses was never made.
TEST_F(TrainingsVariables, ThatAreNotUsedDoNotCount) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    if (mode == Mode::predict) s.variable("unused", {});
    return linear(s, batch, mode);
  };
  Estimator estimator = make(model);
  Features row;
  estimator.predict(data).next(row);
  EXPECT_EQ(estimator.train(data).steps, 2);
  estimator.predict(data).next(row);
}

// The second tower's model_fn call gives another name.
TEST_F(TrainingsVariables, OfTowersMustBeTheSame) {
  auto two = [&](std::function<EstimatorSpec(Scope, const Batch&, Mode, int)> model) {
    int calls = 0;
    RunConfig config = quiet();
    config.devices = {"cpu:0", "cpu:1"};
    Estimator estimator({.model_fn = [&](Scope s, const Batch& b,
                                         Mode m) { return model(std::move(s), b, m, calls++); },
                         .model_dir = dir.path(),
                         .run = config});
    return error_of([&] { estimator.train(once({points({1, 2, 3}, {1, 2, 3})})); });
  };
  EXPECT_THAT(
      two([](Scope s, const Batch& b, Mode m, int call) {
        return linear(s / concat("call_", call), b, m);
      }),
      HasSubstr("train: variable 0 of tower 1's model is `call_1/line/kernel` (f32[1, 1], "
                "parameter, mirrored) and of tower 0's `call_0/line/kernel` (f32[1, 1], parameter, "
                "mirrored); a model_fn must make the same "
                "variables on every tower (in training step 1)"));
  EXPECT_THAT(
      two([](Scope s, const Batch& b, Mode m, int call) {
        EstimatorSpec spec = linear(s, b, m);
        if (call == 0) s.variable("seen", {.kind = VariableKind::statistic});
        return spec;
      }),
      HasSubstr("variable 2 of tower 1's model is none and of tower 0's `seen` (f32[], statistic"));
  EXPECT_THAT(
      two([](Scope s, const Batch& b, Mode m, int call) {
        EstimatorSpec spec = linear(s, b, m);
        s.variable("seen", {.kind = VariableKind::statistic,
                            .over_towers = call == 0 ? OverTowers::sum : OverTowers::mean});
        return spec;
      }),
      HasSubstr("tower 1's model is `seen` (f32[], statistic, mean) and of tower 0's `seen` "
                "(f32[], statistic, sum)"));
  auto pair = [](Scope s, const Batch& b, std::vector<std::pair<const char*, Shape>> variables) {
    Tensor loss = mean(b["x"]);
    for (const auto& [name, shape] : variables)
      loss = loss + mean(s.variable(name, {.shape = shape}).value());
    return EstimatorSpec{.loss = loss, .train = sgd()};
  };
  EXPECT_THAT(two([&](Scope s, const Batch& b, Mode, int call) {
                return pair(s, b, {{"a", {2 + call}}});
              }),
              HasSubstr("variable 0 of tower 1's model is `a` (f32[3], parameter, mirrored) and of "
                        "tower 0's `a` (f32[2], parameter, mirrored); a model_fn must make the "
                        "same variables on every tower"));
  EXPECT_THAT(two([&](Scope s, const Batch& b, Mode, int call) {
                return call == 0 ? pair(s, b, {{"a", {2}}, {"b", {2}}})
                                 : pair(s, b, {{"b", {2}}, {"a", {2}}});
              }),
              HasSubstr("variable 0 of tower 1's model is `b` (f32[2], parameter, mirrored) and of "
                        "tower 0's `a` "));
}

}  // namespace
}  // namespace belfry
