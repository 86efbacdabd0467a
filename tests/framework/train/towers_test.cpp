// N towers compute what one tower computes on the same global batch.

#include <cmath>

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

}  // namespace
}  // namespace belfry
