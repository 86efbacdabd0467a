// Estimator::export_model(): what the live model predicts, as files.
#include <stdlib.h>

#include "../distribute/stub_workers.h"
#include "../train/training_testing.h"
#include "belfry/hooks/updates.h"
#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two layers, so that 16 bits round what goes from one to the other.
EstimatorSpec curve(Scope s, const Batch& batch, Mode mode) {
  Tensor hidden = tanh(dense(s / "hidden", batch["x"], {.units = 5}));
  Tensor y = dense(s / "out", hidden, {.units = 1});
  if (mode == Mode::predict) return {.predictions = {{"y", y}}};
  return {.loss = mean(mean_squared_error(y, batch["y"])), .train = sgd({.learning_rate = 0.25})};
}

class EstimatorExport : public ::testing::Test {
 protected:
  Estimator estimator(RunConfig run, ModelFn model_fn = curve) {
    run.threads = 1;
    return Estimator({.model_fn = model_fn, .model_dir = dir.path() + "/model", .run = run});
  }
  void train(Estimator& e, std::int64_t steps = 3) {
    e.train(over_and_over({batch}), {.steps = steps, .hooks = {hooks::moving_average()}});
  }
  static ExportOptions of_batch(bool averaged = false) {
    return {.signatures = {{"predict", {.inputs = {{"x", {{1}, DType::f32}}}}}},
            .averaged = averaged};
  }
  std::string exports() { return dir.path() + "/exports"; }
  Array predicted(Estimator& e, bool averaged = false) {
    Features out;
    EXPECT_TRUE(
        e.predict(once({batch}), {.single_examples = false, .averaged = averaged}).next(out));
    return out.at("y");
  }
  Array served(const std::string& path) {
    return Predictor::load(path, {.threads = 1})(batch).at("y");
  }

  TemporaryFolder dir;
  Features batch = points({0.3f, -1.7f, 0.9f}, {1, 2, 3});
};

TEST_F(EstimatorExport, IsTheLiveStateBitForBit) {
  Estimator e = estimator(saving_nothing());
  train(e);
  Array first = predicted(e);
  EXPECT_TRUE(identical(served(e.export_model(exports(), of_batch())), first));
  EXPECT_FALSE(identical(predicted(e, true), first));
  EXPECT_TRUE(identical(served(e.export_model(exports(), of_batch(true))), predicted(e, true)));
  train(e);
  EXPECT_TRUE(identical(served(e.export_model(exports(), of_batch())), predicted(e)));
  EXPECT_FALSE(identical(served(exports()), first));
}

// Before anything is trained nobody knows what will be.
TEST_F(EstimatorExport, IsCheckedAgainstWhatIsTrained) {
  auto differs = [](Scope s, const Batch& b, Mode mode) {
    return curve(mode == Mode::predict ? s / "nets" : s / "net", b, mode);
  };
  Estimator e = estimator(saving_nothing(), differs);
  EXPECT_EQ(error_of([&] { e.check_export(of_batch()); }), "no error");
  train(e);
  EXPECT_THAT(error_of([&] { e.check_export(of_batch()); }),
              AllOf(HasSubstr("export: what is trained does not fit the model:\n  missing: `nets/"),
                    HasSubstr("the nearest: net/"), Not(HasSubstr("moving_average"))));
  Estimator plain = estimator(saving_nothing());
  plain.train(over_and_over({batch}), {.steps = 1});
  EXPECT_EQ(error_of([&] { plain.check_export(of_batch()); }), "no error");
  EXPECT_THAT(error_of([&] { plain.check_export(of_batch(true)); }),
              HasSubstr("export: there are no moving averages of variables"));
  train(plain);
  EXPECT_EQ(error_of([&] { plain.check_export(of_batch(true)); }), "no error");
}

TEST_F(EstimatorExport, OfIn16BitsIsIn16Bits) {
  for (Precision precision : {Precision::bf16, Precision::f16}) {
    CapturedLog log;
    RunConfig run = saving_nothing();
    run.precision = precision;
    Estimator e = estimator(run);
    train(e);
    std::string path = e.export_model(exports(), of_batch());
    EXPECT_TRUE(identical(served(path), predicted(e))) << to_string(precision);
    ExportOptions in_f32 = of_batch();
    in_f32.precision = Precision::f32;
    EXPECT_FALSE(identical(served(e.export_model(exports(), in_f32)), predicted(e)));
  }
}

TEST_F(EstimatorExport, TakesTheNewestCheckpointOrOneThatIsNamed) {
  Array first, second;
  {
    Estimator e = estimator(saving_every(3));
    train(e);
    first = predicted(e);
    train(e);
    second = predicted(e);
  }
  Estimator e = estimator(saving_every(3));
  EXPECT_TRUE(identical(served(e.export_model(exports(), of_batch())), second));
  ExportOptions named = of_batch();
  named.checkpoint = checkpoint_path(e.model_dir(), 3);
  EXPECT_TRUE(identical(served(e.export_model(exports(), named)), first));
}

TEST_F(EstimatorExport, AsksTheModelFnOfASubclass) {
  struct Constant final : Estimator {
    using Estimator::Estimator;
    EstimatorSpec model_fn(Scope s, const Batch& batch, Mode mode) override {
      return curve(s, batch, mode);
    }
  };
  RunConfig run = saving_nothing();
  run.threads = 1;
  Constant e({.model_dir = dir.path() + "/model", .run = run});
  train(e);
  EXPECT_TRUE(identical(served(e.export_model(exports(), of_batch())), predicted(e)));
}

// Untrained weights are not exported in silence.
TEST_F(EstimatorExport, OfOtherScopesThanTheTrainingsIsAnError) {
  auto other = [](Scope s, const Batch& b, Mode mode) {
    return curve(mode == Mode::train ? s / "fc1" : s / "fc_1", b, mode);
  };
  for (bool restarted : {false, true}) {
    Estimator trained = estimator(saving_every(3), other);
    if (!restarted) train(trained);
    EXPECT_THAT(error_of([&] { trained.export_model(exports(), of_batch()); }),
                AllOf(HasSubstr("missing: `fc_1/"), HasSubstr("left over: `fc1/"),
                      HasSubstr("\ngive layers the same names and shapes in all modes")))
        << restarted;
  }
}

// The value that each tower had of a variable is no variable that the model could have meant.
TEST_F(EstimatorExport, VariablesOfSingleTowersAreNotLeftOver) {
  Checkpoint state;
  for (const char* name : {"seen", "seen/tower_0", "seen/tower_1"})
    state.variables[name] = Array::scalar(1.0f);
  ExportOptions options = of_batch();
  options.model_fn = curve;
  EXPECT_THAT(error_of([&] { export_model(exports(), options, state); }),
              AllOf(HasSubstr("left over: `seen` f32[]"), Not(HasSubstr("tower"))));
}

TEST_F(EstimatorExport, AddsNothingToCheckpoints) {
  Estimator e = estimator(saving_every(1));
  train(e);
  std::vector<std::string> names = e.variable_names();
  predicted(e);
  e.export_model(exports(), of_batch());
  e.evaluate(once({batch}));
  EXPECT_EQ(e.variable_names(), names);
  train(e, 1);
  auto names_in = [&](std::int64_t step) {
    std::vector<std::string> out;
    for (const auto& [name, value] :
         load_checkpoint(checkpoint_path(e.model_dir(), step)).variables)
      out.push_back(name);
    return out;
  };
  EXPECT_EQ(names_in(4), names_in(3));
}

TEST_F(EstimatorExport, NeedsAState) {
  Estimator e = estimator(saving_nothing());
  EXPECT_THAT(error_of([&] { e.export_model(exports(), of_batch()); }),
              HasSubstr("nothing was trained and " + e.model_dir() + " has no checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(exports()));
}

TEST_F(EstimatorExport, OfSeveralWorkersIsTheChiefs) {
  {
    Estimator e = estimator(saving_every(3));
    train(e);
  }
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  for (int rank : {1, 0}) {
    WorkersRegistration stub([=](const std::optional<WorkerOptions>&) {
      return std::make_shared<StubWorkers>(2, rank);
    });
    std::string path = estimator(saving_nothing()).export_model(exports(), of_batch());
    EXPECT_EQ(path.empty(), rank == 1);
    EXPECT_EQ(std::filesystem::exists(exports()), rank == 0);
  }
  unsetenv("OMPI_COMM_WORLD_SIZE");
  WorkersRegistration none(nullptr);
}

// The mean of the chief's 2 and the other's 4 is 3.
TEST_F(EstimatorExport, OfSeveralWorkersMergesTheirTowers) {
  auto scaled = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor y = batch["x"]
               * s.variable("scale", {.initializer = constant_value(2),
                                      .kind = VariableKind::statistic,
                                      .over_towers = OverTowers::mean});
    if (mode == Mode::predict) return {.predictions = {{"y", y}}};
    Variable w = s.variable("w", {});
    return {.loss = mean(mean_squared_error(y * w, batch["y"])), .train = sgd()};
  };
  {
    Estimator e = estimator(saving_every(3), scaled);
    train(e);
  }
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  {
    WorkersRegistration stub([](const std::optional<WorkerOptions>&) {
      Array four = Array::scalar(4.f);
      return std::make_shared<StubWorkers>(
          2, 0, std::vector<std::byte>(four.raw_bytes().begin(), four.raw_bytes().end()));
    });
    Estimator chief = estimator(saving_nothing(), scaled);
    EXPECT_TRUE(identical(predicted(chief), Array::of({0.6f, -3.4f, 1.8f}, {3, 1})));
    Array exported = served(chief.export_model(exports(), of_batch()));
    EXPECT_TRUE(identical(exported, Array::of({0.3f * 3, -1.7f * 3, 0.9f * 3}, {3, 1})));
  }
  unsetenv("OMPI_COMM_WORLD_SIZE");
  WorkersRegistration none(nullptr);
}

}  // namespace
}  // namespace belfry
