// Models put together at random, trained: however a step is cut up, over towers, parts of the
// batch, devices, computing again and less memory, it is the same step.
//
// BELFRY_RANDOM_TRAININGS says how many models are trained; BELFRY_RANDOM_SEED and
// BELFRY_RANDOM_ONLY are as in random_models_test.cpp.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "../../framework/base/from_environment.h"
#include "../../framework/train/comparing.h"
#include "../tell_count.h"
#include "random_graph.h"

namespace belfry::random_models {
namespace {

struct Drawn {
  std::uint64_t seed = 0;
  DType floating = DType::f64;
  bool batch_statistics = false;
  std::int64_t rows = 4;
  Optimizer optimizer = sgd();
};

// The mean of squares of all outputs and, so that the loss depends on all of them, of variables.
ModelFn model_of(const Drawn& drawn) {
  return [drawn](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    GraphOptions options{.seed = drawn.seed,
                         .floating = drawn.floating,
                         .rows_apart = true,
                         .batch_statistics = drawn.batch_statistics};
    Model model = build(s, options, [&](const std::string& name) { return batch[name]; });
    s.variable("alone", {.dtype = drawn.floating, .initializer = ones()});
    std::vector<Tensor> terms;
    for (const Tensor& y : model.outputs) terms.push_back(mean(square(y)));
    for (const Variable& v : trainable_variables(s.graph()))
      terms.push_back(mean(square(v.value())) * 0.125);
    return {.loss = sum(stack(terms)), .train = drawn.optimizer};
  };
}

Features batch_of(const Drawn& drawn) {
  GraphOptions options{.seed = drawn.seed, .floating = drawn.floating, .rows_apart = true};
  Features batch;
  for (const auto& [name, type] : input_types(options, drawn.rows))
    batch.set(name, elements_of(drawn.seed, name, type).cast(type.dtype));
  return batch;
}

// Notes the losses of a training, and the most that the first device had in use.
class Watch final : public Hook {
 public:
  void after_step(const StepResult& step) override {
    losses.push_back(step.loss);
    most_in_use = std::max(most_in_use, device_->memory_in_use().count);
  }
  std::vector<double> losses;
  std::int64_t most_in_use = 0;

 private:
  std::shared_ptr<Device> device_ = find_device("cpu:0");
};

struct Trained {
  NamedArrays variables;
  std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::string plan;
};

class RandomTraining {
 public:
  explicit RandomTraining(Drawn drawn)
      : drawn_(std::move(drawn)), input_(over_and_over({batch_of(drawn_)})) {}

  Trained train(RunConfig config, int parts = 1) const {
    CapturedLog log;
    TemporaryFolder folder;
    config.exact_convolutions = true;
    Estimator estimator({.model_fn = model_of(drawn_), .model_dir = folder.path(), .run = config});
    Trained out;
    Hooks hooks{out.watch};
    if (parts > 1) hooks.push_back(std::make_shared<AsksForMicroBatches>(parts));
    out.plan = estimator.plan(input_, {.max_steps = 2, .hooks = hooks});
    estimator.train(input_, {.max_steps = 2, .hooks = hooks});
    for (const std::string& name : estimator.variable_names())
      out.variables[name] = estimator.variable_value(name);
    return out;
  }

 private:
  Drawn drawn_;
  InputFn input_;
};

double largest(const Array& a) {
  double out = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) out = std::max(out, std::abs(a.at(i)));
  return out;
}

// The largest difference; infinite for arrays of other types, and for what is not finite.
double apart(const Array& got, const Array& wanted) {
  if (got.type() != wanted.type()) return INFINITY;
  double worst = 0;
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    double d = std::abs(got.at(i) - wanted.at(i));
    worst = std::isfinite(d) ? std::max(worst, d) : INFINITY;
  }
  return worst;
}

// Some gradients are sums of contributions that cancel, as that of the bias of an attention's keys:
// only the rounding of the contributions is left. These are about as large as the gradients of
// other variables, so half a unit in the last place of the largest element of any variable, or of
// any slot of the same name, is as good as zero.
class Zero {
 public:
  explicit Zero(const NamedArrays& all) {
    for (const auto& [name, value] : all)
      largest_[slot_of(name)] = std::max(largest_[slot_of(name)], largest(value));
  }
  double of(const std::string& name, DType dtype) const {
    return largest_.at(slot_of(name)) * (dtype == DType::f64 ? 0x1p-53 : 0x1p-24);
  }

 private:
  static std::string slot_of(const std::string& name) {
    for (std::string_view optimizer : {"/adam/", "/momentum"})
      if (std::size_t at = name.rfind(optimizer); at != name.npos) return name.substr(at);
    return "";
  }
  std::map<std::string, double> largest_;
};

void expect_same(const Trained& got, const Trained& wanted, double allowed,
                 const std::string& how) {
  ASSERT_EQ(got.watch->losses.size(), 2u) << how;
  for (std::size_t i = 0; i < 2; ++i) {
    double a = got.watch->losses[i], b = wanted.watch->losses[i];
    EXPECT_LE(std::abs(a - b), allowed * std::abs(b)) << how << ", step " << i + 1;
  }
  ASSERT_EQ(got.variables.size(), wanted.variables.size()) << how;
  const Zero zero(wanted.variables);
  for (const auto& [name, value] : wanted.variables) {
    const Array& other = got.variables.at(name);
    if (allowed == 0) {
      EXPECT_TRUE(identical(value, other)) << how << ": " << name;
    } else {
      EXPECT_LE(apart(other, value), allowed * largest(value) + zero.of(name, value.dtype()))
          << how << ": " << name << "\n"
          << text(value) << "\n"
          << text(other);
    }
  }
}

// The bytes that a plan says a device takes, rounded up where it rounds them.
double planned_bytes(const std::string& plan) {
  std::size_t at = plan.find("  cpu:0: ");
  std::istringstream words(plan.substr(at + 9));
  double number = 0;
  std::string unit;
  words >> number >> unit;
  if (unit == "B") return number;
  return (number + 0.05) * (unit == "KiB" ? 1 << 10 : unit == "MiB" ? 1 << 20 : 1 << 30);
}

Drawn draw(std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, "training"));
  Drawn drawn{.seed = seed};
  drawn.rows = 2 + static_cast<std::int64_t>(random.below(6));
  drawn.batch_statistics = random.below(4) == 0;
  if (random.below(3) == 0) drawn.floating = DType::f32;
  switch (random.below(3)) {
    case 0:
      drawn.optimizer = sgd({.learning_rate = 0.05});
      break;
    case 1:
      drawn.optimizer = momentum({.learning_rate = 0.05});
      break;
    default:
      drawn.optimizer = adam({.learning_rate = 0.01, .epsilon = 1e-3f});
  }
  return drawn;
}

class Limit {
 public:
  ~Limit() { device_->set_memory_limit(limit_); }

 private:
  std::shared_ptr<Device> device_ = find_device("cpu:0");
  Bytes limit_ = device_->memory_limit();
};

// Plans with less memory: they give the same bits, or say that it does not suffice. Gives how many
// trainings needed less than the first one.
int check_memory(const RandomTraining& training, const Trained& one) {
  int with_less = 0;
  Limit back;
  EXPECT_LE(static_cast<double>(one.watch->most_in_use), planned_bytes(one.plan)) << one.plan;
  for (double fraction : {1.0, 0.9, 0.8, 0.5}) {
    RunConfig config = on_cpus(1, 1);
    config.memory_limit =
        Bytes(static_cast<std::int64_t>(fraction * static_cast<double>(one.watch->most_in_use)));
    try {
      Trained less = training.train(config);
      expect_same(less, one, 0, concat("within ", config.memory_limit.bytes.count, " bytes"));
      EXPECT_LE(less.watch->most_in_use, config.memory_limit.bytes.count);
      with_less += fraction < 1;
    } catch (const Error& error) {
      EXPECT_LT(fraction, 1) << error.what();
      EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr("would fit"));
    }
  }
  return with_less;
}

void check(std::uint64_t seed, int& with_less_memory) {
  SCOPED_TRACE(concat("seed ", seed));
  Drawn drawn = draw(seed);
  RandomTraining training(drawn);
  Trained one = training.train(on_cpus(1, 1));
  if (std::getenv("BELFRY_RANDOM_ONLY")) std::cout << one.plan << std::endl;

  RunConfig again = on_cpus(1, 1);
  again.recompute = {.scopes = {""}};
  expect_same(training.train(again), one, 0, "computed again");
  again.recompute = {.automatic = false};
  expect_same(training.train(again), one, 0, "nothing computed again");
  with_less_memory += check_memory(training, one);
  RunConfig cut = on_cpus(1, 2);
  cut.split = auto_split(2);
  expect_same(training.train(cut), one, 1e-6, "cut over two devices");
  if (drawn.batch_statistics) return;

  expect_same(training.train(on_cpus(2, 1)), one, 1e-6, "two towers");
  int parts = static_cast<int>(std::min<std::int64_t>(drawn.rows, 3));
  expect_same(training.train(on_cpus(1, 1), parts), one, 1e-6, "micro-batches");
  RunConfig central = on_cpus(2, 1);
  central.variables = VariablePlacement::central;
  expect_same(training.train(central, drawn.rows >= 4 ? 2 : 1), one, 1e-6,
              "two towers with central variables, in micro-batches");
}

TEST(RandomTraining, IsTheSameHoweverItIsCutUp) {
  std::int64_t only = from_environment("BELFRY_RANDOM_ONLY", -1);
  int with_less_memory = 0;
  if (only >= 0) return check(static_cast<std::uint64_t>(only), with_less_memory);
  std::int64_t first = from_environment("BELFRY_RANDOM_SEED", 0);
  std::int64_t count = from_environment("BELFRY_RANDOM_TRAININGS", 12);
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      check(static_cast<std::uint64_t>(first + i), with_less_memory);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << first + i << ": " << error.what();
    }
  }
  tell_count(count, "random trainings");
  std::cout << with_less_memory << " trainings with less memory\n";
  EXPECT_GT(with_less_memory, 0);
}

}  // namespace
}  // namespace belfry::random_models
