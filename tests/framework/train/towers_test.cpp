// N towers compute what one tower computes on the same global batch.

#include <cmath>

#include "belfry/framework/train/model.h"
#include "training_testing.h"

namespace belfry {
namespace {

constexpr std::int64_t features = 6, classes = 3;

// Rows drawn from a seed: x [rows, features] and a label each.
Features drawn_rows(std::int64_t rows, std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, rows));
  Array x(Shape{rows, features}, DType::f32), label(Shape{rows}, DType::i64);
  for (float& v : x.span<float>()) v = static_cast<float>(random.uniform_double() * 2 - 1);
  for (std::int64_t& v : label.span<std::int64_t>())
    v = static_cast<std::int64_t>(random.uniform_double() * classes);
  return {{"x", x}, {"label", label}};
}

std::vector<Features> batches_of(std::vector<std::int64_t> rows) {
  std::vector<Features> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(drawn_rows(rows[i], i));
  return out;
}

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

RunConfig on(int towers) {
  RunConfig config = saving_nothing();
  config.threads = 1;
  config.devices.clear();
  for (int i = 0; i < towers; ++i) config.devices.push_back("cpu:" + text(i));
  return config;
}

// Collects losses and values of every step.
class Curve final : public Hook {
 public:
  void after_step(const StepResult& step) override {
    losses.push_back(step.loss);
    values.push_back(step.values.empty() ? 0 : step.values[0].second);
    rows.push_back(step.rows);
  }
  std::vector<double> losses, values;
  std::vector<std::int64_t> rows;
};

struct Trained {
  NamedArrays variables;
  std::shared_ptr<Curve> curve = std::make_shared<Curve>();
};

Trained train(const ModelFn& model_fn, const RunConfig& config, const InputFn& input,
              std::int64_t steps = 20, Hooks hooks = {}) {
  CapturedLog log;
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model_fn, .model_dir = folder.path(), .run = config});
  Trained out;
  hooks.push_back(out.curve);
  estimator.train(input, {.max_steps = steps, .hooks = hooks});
  for (const std::string& name : estimator.variable_names())
    out.variables[name] = estimator.variable_value(name);
  return out;
}

// The largest difference of two sets of variables, relative to the largest element of each.
double difference(const NamedArrays& a, const NamedArrays& b) {
  double worst = 0;
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, x] : a) {
    const Array& y = b.at(name);
    double scale = 1e-30, apart = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      scale = std::max(scale, std::abs(x.at(i)));
      apart = std::max(apart, std::abs(x.at(i) - y.at(i)));
    }
    worst = std::max(worst, apart / scale);
  }
  return worst;
}

const std::vector<std::int64_t> uneven_rows = {12, 7, 12, 2, 5, 1};

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
    EXPECT_LT(difference(one.variables, many.variables), 1e-6) << towers << " towers";
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

// Rows in parts, one after the other.
class Parts final : public Hook {
 public:
  explicit Parts(int parts) : parts_(parts) {}
  int micro_batches() const override { return parts_; }

 private:
  int parts_;
};

TEST(Towers, MicroBatchesEqualOneBatch) {
  ModelFn model = with_optimizer(adam({.learning_rate = 1e-2}));
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained one = train(model, on(1), input);
  for (int towers : {1, 2})
    for (int parts : {2, 3}) {
      Trained many = train(model, on(towers), input, 20, {std::make_shared<Parts>(parts)});
      EXPECT_LT(difference(one.variables, many.variables), 1e-6)
          << towers << " towers, " << parts << " parts";
      for (std::size_t i = 0; i < one.curve->losses.size(); ++i)
        EXPECT_NEAR(one.curve->losses[i], many.curve->losses[i], 1e-6) << "step " << i;
    }
}

TEST(Towers, TwoHooksCannotAskForMicroBatches) {
  InputFn input = over_and_over(batches_of({4}));
  EXPECT_EQ(error_of([&] {
              train(with_optimizer(adam()), on(1), input, 1,
                    {std::make_shared<Parts>(2), std::make_shared<Parts>(4)});
            }),
            "train: two hooks ask for micro-batches, 2 and 4; keep one");
}

TEST(Towers, ALossThatIsASumIsSummed) {
  ModelFn model = with_optimizer(sgd({.learning_rate = 0.01}), TowerReduction::sum);
  InputFn input = over_and_over(batches_of(uneven_rows));
  Trained one = train(model, on(1), input);
  for (int towers : {2, 4}) {
    Trained many =
        train(model, on(towers), input, 20, {std::make_shared<Parts>(towers == 2 ? 3 : 1)});
    EXPECT_LT(difference(one.variables, many.variables), 1e-6) << towers;
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
  EXPECT_LT(difference(shared.variables, train(model, config, input).variables), 1e-6);
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
  std::vector<Features> rows{drawn_rows(6, 1)};
  auto part = [&](std::int64_t first, std::int64_t count) {
    Features f;
    for (const auto& [name, array] : rows[0]) f.set(name, array.rows(first, count));
    return f;
  };
  Trained one = train(model, on(1), once({part(0, 4), part(4, 2)}));
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  Trained two = train(model, config, once({part(0, 2), part(2, 2), part(4, 2)}));
  EXPECT_LT(difference(one.variables, two.variables), 1e-6);
  EXPECT_EQ(two.curve->rows, (std::vector<std::int64_t>{4, 2}));
}

TEST(Towers, AFeatureThatCannotBeCutIsNamed) {
  Features batch = drawn_rows(4, 1);
  batch.set("weights", Array::of({1.0f, 2.0f, 3.0f}));
  EXPECT_THAT(error_of([&] { train(with_optimizer(adam()), on(2), once({batch})); }),
              testing::HasSubstr("batch: feature `weights` is f32[3] but the batch has 4 rows, so "
                                 "it cannot be cut for the towers; give it one row an example, or "
                                 "none (a scalar)"));
}

// What fails in one tower is what is reported, and nobody waits for it.
TEST(Towers, AFailureInOneTowerEndsTheStep) {
  CapturedLog log;
  TemporaryFolder folder;
  Features good = drawn_rows(6, 1), bad = drawn_rows(6, 2);
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

// ---- variables of each kind; numbers worked out by hand

// x has rows 1 .. 5: two towers take 1 2 3 and 4 5, whose means are 2 and 4.5.
const Features five{{"x", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f})}};

EstimatorSpec of_every_kind(Scope s, const Batch& batch, Mode) {
  Tensor found = mean(batch["x"]);
  for (OverTowers kind : {OverTowers::mirrored, OverTowers::first, OverTowers::sum,
                          OverTowers::mean, OverTowers::per_tower}) {
    Variable v =
        s.variable(to_string(kind), {.kind = VariableKind::statistic, .over_towers = kind});
    assign(v, v + found);
  }
  Variable w = s.variable("w", {.initializer = constant_value(1)});
  return {.loss = mean(w.value() * batch["x"]), .train = sgd({.learning_rate = 0.125})};
}

std::vector<double> values_of(Estimator& e, const std::vector<std::string>& names) {
  std::vector<double> out;
  for (const std::string& name : names) out.push_back(scalar(e, name));
  return out;
}

const std::vector<std::string> kinds{"mirrored", "first", "sum", "mean", "per_tower"};

TEST(VariableKinds, MergeAsTheySay) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = saving_every(100);
  config.devices = on(2).devices;
  auto make = [&] {
    return Estimator({.model_fn = of_every_kind, .model_dir = folder.path(), .run = config});
  };
  {
    Estimator estimator = make();
    estimator.train(over_and_over({five}), {.max_steps = 2});
    EXPECT_THAT(values_of(estimator, kinds), testing::ElementsAre(6, 4, 13, 6.5, 4));
    EXPECT_EQ(scalar(estimator, "w"), 1 - 2 * 0.125 * 3);
    EXPECT_EQ(estimator.train(over_and_over({five}), {.steps = 1}).global_step, 3);  // once a step
  }
  Estimator again = make();  // from the checkpoint of step 3
  EXPECT_THAT(values_of(again, kinds), testing::ElementsAre(9, 6, 19.5, 9.75, 6));
  EXPECT_EQ(scalar(again, "per_tower/tower_1"), 13.5);
  again.train(over_and_over({five}), {.max_steps = 4});
  EXPECT_THAT(values_of(again, kinds), testing::ElementsAre(12, 8, 26, 13, 8));
  EXPECT_EQ(scalar(again, "per_tower/tower_1"), 18);
  EXPECT_EQ(scalar(again, "mean/tower_0"), 8);
}

TEST(VariableKinds, OnAnotherNumberOfTowers) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = saving_every(100);
  auto model = [](bool own) {
    return [own](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Tensor found = mean(batch["x"]);
      for (OverTowers kind : {OverTowers::sum, OverTowers::mean, OverTowers::per_tower}) {
        if (kind == OverTowers::per_tower && !own) continue;
        Variable v =
            s.variable(to_string(kind), {.kind = VariableKind::statistic, .over_towers = kind});
        assign(v, v + found);
      }
      Variable w = s.variable("w", {.initializer = constant_value(1)});
      return {.loss = mean(w.value() * batch["x"]), .train = sgd()};
    };
  };
  config.devices = on(2).devices;
  Estimator({.model_fn = model(true), .model_dir = folder.path(), .run = config})
      .train(over_and_over({five}), {.max_steps = 2});
  config.devices = on(1).devices;
  Estimator one({.model_fn = model(false), .model_dir = folder.path(), .run = config});
  one.train(over_and_over({five}), {.max_steps = 3});
  EXPECT_THAT(values_of(one, {"sum", "mean"}), testing::ElementsAre(16, 9.5));
  config.devices = on(3).devices;
  Estimator three({.model_fn = model(true), .model_dir = folder.path(), .run = config});
  EXPECT_THAT(error_of([&] { three.train(over_and_over({five}), {.max_steps = 4}); }),
              testing::HasSubstr("has the values of 2 towers for variable `per_tower`, which "
                                 "differs from tower to tower; there are 3 now"));
}

// Rows 0 2 4 and 10 20: means 2 and 15, variances (by n - 1) 4 and 50.
TEST(VariableKinds, MovingStatisticsAreTheTowersMean) {
  CapturedLog log;
  TemporaryFolder folder;
  Features batch{{"x", Array::of({0.0f, 2.0f, 4.0f, 10.0f, 20.0f}, Shape{5, 1})}};
  ModelFn model = [](Scope s, const Batch& b, Mode mode) -> EstimatorSpec {
    Tensor y = batch_norm(s / "norm", b["x"], {.training = mode == Mode::train, .momentum = 0.5});
    return {.loss = mean(y * b["x"]), .train = sgd({.learning_rate = 0})};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on(2)});
  estimator.train(once({batch}), {});
  EXPECT_FLOAT_EQ(static_cast<float>(scalar(estimator, "norm/moving_mean")), 3.6f);
  EXPECT_FLOAT_EQ(static_cast<float>(scalar(estimator, "norm/moving_variance")), 11.7f);
}

// ---- what looks at all towers within a step

ModelFn with_batch_norm(bool sync) {
  return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor x = dense(s / "hidden", batch["x"], {.units = 8});
    x = relu(batch_norm(s / "norm", x, {.training = mode == Mode::train, .sync = sync}));
    Tensor logits = dense(s / "logits", x, {.units = classes});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = momentum({.learning_rate = 0.01})};
  };
}

// The bias before a normalisation has no effect: its gradient is nothing but rounding.
void forget_idle_bias(Trained& trained) {
  std::erase_if(trained.variables,
                [](const auto& v) { return v.first.starts_with("hidden/bias"); });
}

TEST(SyncBatchNorm, NormalisesOverTheGlobalBatch) {
  InputFn input = over_and_over(batches_of({12, 7, 12, 3}));
  Trained one = train(with_batch_norm(true), on(1), input);
  for (int towers : {2, 3, 4}) {
    Trained many = train(with_batch_norm(true), on(towers), input);
    for (Trained* t : {&one, &many}) forget_idle_bias(*t);
    EXPECT_LT(difference(one.variables, many.variables), 1e-6) << towers;
    EXPECT_NEAR(one.curve->losses.back(), many.curve->losses.back(), 1e-5);
  }
  Trained apart = train(with_batch_norm(false), on(2), input);
  forget_idle_bias(apart);
  EXPECT_GT(difference(one.variables, apart.variables), 1e-3);
}

TEST(WeightedLosses, CountTheWeightsOfAllTowers) {
  std::vector<Features> data = batches_of(uneven_rows);
  for (Features& batch : data) {
    PhiloxStream random(philox_key(9, batch.at("x").shape()[0]));
    Array weights(Shape{batch.at("x").shape()[0]}, DType::f32);
    for (float& w : weights.span<float>()) w = random.uniform_double() < 0.3 ? 0 : 2;
    batch.set("weight", weights);
  }
  ModelFn model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor logits = dense(s / "logits", batch["x"], {.units = classes});
    return {.loss = reduce_loss(sparse_softmax_cross_entropy(logits, batch["label"]),
                                Reduction::weighted_mean, batch["weight"]),
            .train = sgd({.learning_rate = 0.1})};
  };
  Trained one = train(model, on(1), over_and_over(data));
  for (int towers : {2, 4}) {
    Trained many = train(model, on(towers), over_and_over(data));
    EXPECT_LT(difference(one.variables, many.variables), 1e-6) << towers;
    EXPECT_NEAR(one.curve->losses[5], many.curve->losses[5], 1e-6);
  }
}

EstimatorSpec with_table(Scope s, const Batch& batch, Mode) {
  Tensor found = embedding(s / "words", batch["ids"], {.rows = 1000, .width = 4});  // [n, 3, 4]
  Tensor again = embedding_lookup(trainable_variables(s.graph(), "words")[0], batch["label"]);
  Tensor logits = dense(s / "logits", mean(found, {.axes = {1}}) * again, {.units = classes});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adagrad({.learning_rate = 0.1})};
}

std::vector<Features> with_ids(std::vector<Features> data) {
  for (Features& batch : data) {
    std::int64_t rows = batch.at("x").shape()[0];
    PhiloxStream random(philox_key(3, rows));
    Array ids(Shape{rows, 3}, DType::i64);
    for (std::int64_t& id : ids.span<std::int64_t>())
      id = static_cast<std::int64_t>(random.uniform_double() * 1000);
    batch.set("ids", ids);
  }
  return data;
}

TEST(SparseGradients, EqualOneTower) {
  InputFn input = over_and_over(with_ids(batches_of(uneven_rows)));
  Trained one = train(with_table, on(1), input);
  for (int towers : {2, 3, 4}) {
    Trained many =
        train(with_table, on(towers), input, 20, {std::make_shared<Parts>(towers == 3 ? 2 : 1)});
    EXPECT_LT(difference(one.variables, many.variables), 1e-6) << towers;
  }
}

TEST(SparseGradients, TheTableIsNotExchanged) {
  Features batch = with_ids(batches_of({6}))[0];
  Model model(with_table, Mode::train, signature_of(batch), {}, {.towers = 2, .most_rows = 6});
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  auto plan = model.compile(devices);
  std::int64_t exchanged = 0;
  for (const Instruction& i : plan->slots[0]->instructions)
    if (i.role == Instruction::Role::start)
      for (const TensorType& type : i.node->outputs()) exchanged += type.shape.elements();
  // 48 = 2 towers x 6 rows x 4 ids: rows of 4 and indices; 15 weights of the dense layer; the loss.
  EXPECT_EQ(exchanged, 48 * 4 + 48 + 15 + 1);
}

}  // namespace
}  // namespace belfry
