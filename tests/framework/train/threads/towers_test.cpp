// N towers compute what one tower computes on the same global batch.

#include "towers_testing.h"

namespace belfry {
namespace {

// Two layers with dropout and weight decay.
ModelFn with_optimizer(Optimizer optimizer, TowerReduction reduction = TowerReduction::mean) {
  return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor x = tanh(dense(s / "hidden", batch["x"], {.units = 8}));
    x = dropout(s / "drop", x, {.rate = 0.25f, .training = mode == Mode::train});
    Tensor logits = dense(s / "logits", x, {.units = classes});
    Tensor losses = sparse_softmax_cross_entropy(logits, batch["label"]);
    Tensor loss = reduction == TowerReduction::mean ? mean(losses) : sum(losses);
    Tensor largest = argmax(logits, 1);
    if (mode == Mode::predict) return {.predictions = {{"class", largest}, {"logits", logits}}};
    return {.loss = loss,
            .train = optimizer,
            .loss_over_towers = reduction,
            .metrics = {{"accuracy", accuracy(batch["label"], largest)}},
            .values = {{"logit", mean(logits)}}};
  };
}

struct NamedOptimizer {
  std::string name;
  Optimizer optimizer;
};
void PrintTo(const NamedOptimizer& o, std::ostream* out) { *out << o.name; }

class TowersOfEachOptimizer : public testing::TestWithParam<NamedOptimizer> {};

TEST_P(TowersOfEachOptimizer, EqualOneTower) {
  ModelFn model = with_optimizer(GetParam().optimizer);
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained one = train(model, on(1), input);
  for (int towers : {2, 3, 4}) {
    Trained many = train(model, on(towers), input);
    EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6) << towers << " towers";
    EXPECT_EQ(one.curve->rows, many.curve->rows);
    for (std::size_t i = 0; i < one.curve->losses.size(); ++i) {
      EXPECT_NEAR(one.curve->losses[i], many.curve->losses[i], 1e-6) << "step " << i;
      EXPECT_NEAR(one.curve->values[i], many.curve->values[i], 1e-6) << "step " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TowersOfEachOptimizer,
    testing::Values(NamedOptimizer{"sgd", sgd({.learning_rate = 0.1})},
                    NamedOptimizer{"momentum", momentum({.learning_rate = 0.05})},
                    NamedOptimizer{"adam", adam({.learning_rate = 1e-2})},
                    NamedOptimizer{"adamw", adamw({.learning_rate = 1e-2, .weight_decay = 0.1})},
                    NamedOptimizer{"rmsprop", rmsprop({.learning_rate = 1e-3})},
                    NamedOptimizer{"adagrad", adagrad({.learning_rate = 1e-2})},
                    NamedOptimizer{"ftrl", ftrl({.learning_rate = 1e-2})},
                    NamedOptimizer{"lamb", lamb({.learning_rate = 1e-2})}),
    [](const auto& info) { return info.param.name; });

TEST(Towers, TwoRunsGiveTheSameBits) {
  ModelFn model = with_optimizer(adam());
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained a = train(model, on(3), input), b = train(model, on(3), input);
  for (const auto& [name, value] : a.variables)
    EXPECT_TRUE(identical(value, b.variables.at(name))) << name;
  EXPECT_EQ(a.curve->losses, b.curve->losses);
}

TEST(Towers, MicroBatchesEqualOneBatch) {
  ModelFn model = with_optimizer(adam({.learning_rate = 1e-2}));
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained one = train(model, on(1), input);
  for (int towers : {1, 2})
    for (int parts : {2, 3}) {
      Trained many =
          train(model, on(towers), input, 20, {std::make_shared<AsksForMicroBatches>(parts)});
      EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6)
          << towers << " towers, " << parts << " parts";
      for (std::size_t i = 0; i < one.curve->losses.size(); ++i)
        EXPECT_NEAR(one.curve->losses[i], many.curve->losses[i], 1e-6) << "step " << i;
    }
}

TEST(Towers, TwoHooksCannotAskForMicroBatches) {
  InputFn input = over_and_over(batches_of({4}));
  EXPECT_EQ(
      error_of([&] {
        train(with_optimizer(adam()), on(1), input, 1,
              {std::make_shared<AsksForMicroBatches>(2), std::make_shared<AsksForMicroBatches>(4)});
      }),
      "train: two hooks ask for micro-batches, 2 and 4; keep one");
}

TEST(Towers, ALossThatIsASumIsSummed) {
  ModelFn model = with_optimizer(sgd({.learning_rate = 0.01}), TowerReduction::sum);
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained one = train(model, on(1), input);
  for (int towers : {2, 4}) {
    Trained many = train(model, on(towers), input, 20,
                         {std::make_shared<AsksForMicroBatches>(towers == 2 ? 3 : 1)});
    EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6) << towers;
    EXPECT_NEAR(one.curve->losses[7], many.curve->losses[7], 1e-5) << towers;
  }
}

TEST(Towers, BucketsOfAnySizeGiveTheSameBits) {
  ModelFn model = with_optimizer(adam());
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained whole = train(model, on(3), input);
  for (std::int64_t bytes : {1, 100}) {
    RunConfig config = on(3);
    config.bucket = Bytes(bytes);
    Trained pieces = train(model, config, input);
    for (const auto& [name, value] : whole.variables)
      EXPECT_TRUE(identical(value, pieces.variables.at(name))) << name;
  }
}

TEST(Towers, EveryWayOfReducingAgrees) {
  ModelFn model = with_optimizer(momentum({.learning_rate = 0.05}));
  InputFn input = over_and_over(batches_of(uneven_rows));
  RunConfig config = on(4);
  Trained shared = train(model, config, input);
  config.reduction = CrossDevice::to_one_device;  // the same order of members: the same bits
  Trained one_device = train(model, config, input);
  for (const auto& [name, value] : shared.variables)
    EXPECT_TRUE(identical(value, one_device.variables.at(name))) << name;
  config.reduction = CrossDevice::hierarchical;
  EXPECT_LT(largest_difference(shared.variables, train(model, config, input).variables), 1e-6);
}

TEST(Towers, CentralVariablesGiveTheSameBits) {
  ModelFn model = with_optimizer(adam());
  InputFn input = over_and_over(batches_of(uneven_rows));
  RunConfig config = on(3);
  Trained mirrored = train(model, config, input);
  config.variables = VariablePlacement::central;
  Trained central = train(model, config, input);
  for (const auto& [name, value] : mirrored.variables)
    EXPECT_TRUE(identical(value, central.variables.at(name))) << name;
}

// A step takes a batch for each tower; what remains at the end goes to the first ones.
TEST(Towers, ABatchForEachTower) {
  ModelFn model = with_optimizer(sgd({.learning_rate = 0.1}));
  std::vector<Features> rows{labelled_rows(6, 1)};
  auto part = [&](std::int64_t first, std::int64_t count) {
    Features f;
    for (const auto& [name, array] : rows[0]) f.set(name, array.rows(first, count));
    return f;
  };
  Trained one = train(model, on(1), once({part(0, 4), part(4, 2)}));
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  Trained two = train(model, config, once({part(0, 2), part(2, 2), part(4, 2)}));
  EXPECT_LT(largest_difference(one.variables, two.variables), 1e-6);
  EXPECT_EQ(two.curve->rows, (std::vector<std::int64_t>{4, 2}));
}

TEST(Towers, AFeatureThatCannotBeCutIsNamed) {
  Features batch = labelled_rows(4, 1);
  batch.set("weights", Array::of({1.0f, 2.0f, 3.0f}));
  EXPECT_THAT(error_of([&] { train(with_optimizer(adam()), on(2), once({batch})); }),
              testing::HasSubstr("batch: feature `weights` is f32[3] but the batch has 4 rows, so "
                                 "it cannot be cut for the towers; give it one row an example, or "
                                 "none (a scalar)"));
}

TEST(Towers, APredictionThatCannotBeJoinedIsNamed) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor y = dense(s / "line", batch["x"], {.units = 1});
    return {.predictions = {{"mean", mean(y)}, {"y", y}}};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on(2)});
  Features p;
  auto error = [&](const PredictOptions& options) {
    return error_of([&] { estimator.predict(once({labelled_rows(4, 1)}), options).next(p); });
  };
  EXPECT_EQ(error({.single_examples = false}),
            "predict: the prediction `mean` is f32[] for 2 rows of a tower, but several towers "
            "need one row an example; leave it out with PredictOptions::keys, or predict on one "
            "device");
  EXPECT_EQ(error({.keys = {"y"}}), "no error");
}

// The error of one tower is the error that is reported, and nobody waits for that tower.
TEST(Towers, AFailureInOneTowerEndsTheStep) {
  CapturedLog log;
  TemporaryFolder folder;
  Features good = labelled_rows(6, 1), bad = labelled_rows(6, 2);
  bad.at("label").span<std::int64_t>()[5] = 77;
  RunConfig config = saving_every(1);
  config.devices = on(3).devices;
  Estimator estimator(
      {.model_fn = with_optimizer(adam()), .model_dir = folder.path(), .run = config});
  EXPECT_THAT(error_of([&] {
                estimator.train(once({good, bad}), {});
              }),
              testing::AllOf(testing::HasSubstr("77"), testing::HasSubstr("in training step 2")));
  EXPECT_EQ(estimator.train(once({good}), {.resume_input = false}).global_step, 2);
}

TEST(Towers, EvaluationAndPredictionAreThoseOfOneTower) {
  CapturedLog log;
  std::vector<Features> data = batches_of({7, 3, 1});
  auto results = [&](int towers) {
    TemporaryFolder folder;
    Estimator estimator(
        {.model_fn = with_optimizer(adam()), .model_dir = folder.path(), .run = on(towers)});
    EvalResult result = estimator.evaluate(once(data));
    std::vector<double> numbers{result.at("loss"), result.at("accuracy")};
    for (const Features& p : estimator.predict(once(data)))
      for (std::int64_t i = 0; i < classes; ++i) numbers.push_back(p.at("logits").at(i));
    return numbers;
  };
  std::vector<double> one = results(1);
  EXPECT_EQ(one.size(), 2u + 11 * classes);
  for (int towers : {2, 3, 4}) {
    std::vector<double> many = results(towers);
    ASSERT_EQ(many.size(), one.size());
    EXPECT_NEAR(many[0], one[0], 1e-7);
    EXPECT_EQ(many[1], one[1]);
    for (std::size_t i = 2; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-6) << i;
  }
}

// 5 rows on two towers are 3 and 2.
TEST(Towers, ErrorsSayWhichRowsATowerHas) {
  Features batch = labelled_rows(5, 0);
  Array labels = batch.at("label").clone();
  labels.span<std::int64_t>()[4] = -1;
  batch.set("label", labels);
  std::string where = "(on tower 1, whose row 0 is row 3 of the batch's 5) (in training step 1)";
  EXPECT_THAT(error_of([&] { train(with_optimizer(sgd()), on(2), once({batch}), 1); }),
              testing::AllOf(testing::HasSubstr("at row 1"), testing::HasSubstr(where)));
  auto picky = [](Scope s, const Batch& b, Mode m) {
    require(b.rows() != 2, "no two rows");
    return with_optimizer(sgd())(s, b, m);
  };
  EXPECT_THAT(error_of([&] { train(picky, on(2), once({labelled_rows(5, 0)}), 1); }),
              testing::AllOf(testing::HasSubstr("no two rows"), testing::HasSubstr(where)));
}

}  // namespace
}  // namespace belfry
