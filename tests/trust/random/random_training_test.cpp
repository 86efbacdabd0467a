// Models put together at random, trained: however a step is cut up, over towers, parts of the
// batch and devices, it is the same step, and for each way to cut it up computing again, less
// memory, an interruption and other sums over towers change no bit. No device ever has more in use
// than plan() says.
//
// BELFRY_RANDOM_TRAININGS says how many models are trained; BELFRY_RANDOM_SEED and
// BELFRY_RANDOM_ONLY are as in random_models_test.cpp. Among a few, none may be of a kind that is
// expected among many.
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
#include "random_optimizer.h"

namespace belfry::random_models {
namespace {

constexpr int most_towers = 3, most_devices_each = 2;
constexpr double allowed_by_order = 1e-6;  // of the largest element, for another order of sums

struct Drawn {
  std::uint64_t seed = 0;
  DType floating = DType::f64;
  Precision precision = Precision::f32;
  bool batch_statistics = false;
  bool penalised = true;  ///< the loss depends on each element of each variable
  std::int64_t rows = 4;
  DrawnOptimizer update = {};
  /// How a step is cut up.
  int towers = 1, devices_each = 1, parts = 1;

  /// Whether it does not matter how a step is cut up, but for the order of sums. In 16 bits the
  /// gradient of each part of a batch is rounded, slots that are rounded at random go another way
  /// after the least difference, and where nothing is added to gradients that cancel, rules that
  /// divide by their size make steps of what is left of them.
  bool is_the_same_cut_up() const {
    return precision == Precision::f32 && !update.rounds_at_random && penalised
           && !batch_statistics;
  }
};

Drawn draw(std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, "training"));
  auto up_to = [&](int most) { return 1 + static_cast<int>(random.below(most)); };
  Drawn drawn{.seed = seed};
  drawn.rows = 2 + static_cast<std::int64_t>(random.below(6));
  drawn.batch_statistics = random.below(4) == 0;
  drawn.penalised = random.below(3) > 0;
  if (random.below(2) == 0) drawn.floating = DType::f32;
  if (drawn.floating == DType::f32 && random.below(2) == 0)
    drawn.precision = random.below(2) == 0 ? Precision::bf16 : Precision::f16;
  drawn.update = draw_optimizer(random, drawn.floating == DType::f32);
  drawn.towers = up_to(most_towers);
  drawn.devices_each = up_to(most_devices_each);
  drawn.parts = up_to(3);
  return drawn;
}

// The mean of squares of all outputs and of variables: of all, or of those alone that the outputs
// do not depend on.
ModelFn model_of(const Drawn& drawn) {
  return [drawn](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    GraphOptions options{.seed = drawn.seed,
                         .floating = drawn.floating,
                         .rows_apart = true,
                         .batch_statistics = drawn.batch_statistics};
    Model model = build(s, options, [&](const std::string& name) { return batch[name]; });
    s.variable("alone", {.dtype = drawn.floating, .initializer = ones()});
    std::vector<Tensor> terms, variables;
    for (const Tensor& y : model.outputs) terms.push_back(mean(square(y)));
    for (const Variable& v : trainable_variables(s.graph())) variables.push_back(v.value());
    std::vector<Tensor> reached(variables.size());
    if (!drawn.penalised) reached = gradients(sum(stack(terms)), variables);
    for (std::size_t i = 0; i < variables.size(); ++i)
      if (!reached[i].defined()) terms.push_back(mean(square(variables[i])) * 0.125);
    return {.loss = sum(stack(terms)), .train = drawn.update.optimizer};
  };
}

Features batch_of(const Drawn& drawn) {
  GraphOptions options{.seed = drawn.seed, .floating = drawn.floating, .rows_apart = true};
  Features batch;
  for (const auto& [name, type] : input_types(options, drawn.rows))
    batch.set(name, elements_of(drawn.seed, name, type).cast(type.dtype));
  return batch;
}

// All devices of the largest cut, with their limits at first.
class Devices {
 public:
  Devices() {
    for (int i = 0; i < most_towers * most_devices_each; ++i) {
      devices_.push_back(find_device("cpu:" + text(i)));
      limits_.push_back(devices_.back()->memory_limit());
    }
  }
  ~Devices() {
    for (std::size_t i = 0; i < devices_.size(); ++i) devices_[i]->set_memory_limit(limits_[i]);
  }
  Devices(const Devices&) = delete;

  auto begin() const { return devices_.begin(); }
  auto end() const { return devices_.end(); }

 private:
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<Bytes> limits_;
};

using BytesInUse = std::map<std::string, std::int64_t>;  // by the device's name

// Notes the losses of a training, and the most that each device had in use.
class Watch final : public Hook {
 public:
  void after_step(const StepResult& step) override {
    losses.push_back(step.loss);
    applied += step.applied.contains(0);
    for (const auto& device : devices_) {
      std::int64_t& most = most_in_use[device->name()];
      most = std::max(most, device->memory_in_use().count);
    }
  }
  std::int64_t fullest() const {
    std::int64_t most = 0;
    for (const auto& [device, bytes] : most_in_use) most = std::max(most, bytes);
    return most;
  }
  std::vector<double> losses;
  int applied = 0;  // steps whose gradients were finite
  BytesInUse most_in_use;

 private:
  Devices devices_;
};

struct Trained {
  NamedArrays variables;
  std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::string plan;
};

// The bytes that a plan says a device takes, rounded up where it rounds them.
double planned_bytes(const std::string& plan, const std::string& device) {
  std::size_t at = plan.find("  " + device + ": ");
  if (at == plan.npos) return 0;
  std::istringstream words(plan.substr(at + device.size() + 4));
  double number = 0;
  std::string unit;
  words >> number >> unit;
  if (unit == "B") return number;
  return (number + 0.05) * (unit == "KiB" ? 1 << 10 : unit == "MiB" ? 1 << 20 : 1 << 30);
}

void expect_no_more_than_planned(const Trained& trained, const std::string& how) {
  for (const auto& [device, bytes] : trained.watch->most_in_use)
    EXPECT_LE(static_cast<double>(bytes), planned_bytes(trained.plan, device))
        << how << ", " << device << ":\n"
        << trained.plan;
}

class RandomTraining {
 public:
  explicit RandomTraining(Drawn drawn)
      : drawn_(std::move(drawn)), input_(over_and_over({batch_of(drawn_)})) {}

  const Drawn& drawn() const { return drawn_; }
  RunConfig config(int towers, int devices_each) const {
    RunConfig config = on_cpus(towers, devices_each);
    if (devices_each > 1) config.split = auto_split(devices_each);
    config.precision = drawn_.precision;
    config.exact_convolutions = true;
    return config;
  }
  RunConfig cut_up() const { return config(drawn_.towers, drawn_.devices_each); }

  // Two steps. Interrupted, another Estimator does the second.
  Trained train(const RunConfig& config, int parts, bool interrupted = false) const {
    CapturedLog log;
    TemporaryFolder folder;
    Trained out;
    Hooks hooks{out.watch};
    if (parts > 1) hooks.push_back(std::make_shared<AsksForMicroBatches>(parts));
    EstimatorOptions options{
        .model_fn = model_of(drawn_), .model_dir = folder.path(), .run = config};
    if (interrupted) {
      options.run.save_checkpoint = Steps(1);
      Estimator(options).train(input_, {.max_steps = 1, .hooks = hooks});
    }
    Estimator estimator(options);
    out.plan = estimator.plan(input_, {.max_steps = 2, .hooks = hooks});
    estimator.train(input_, {.max_steps = 2, .hooks = hooks});
    for (const std::string& name : estimator.variable_names())
      out.variables[name] = estimator.variable_value(name);
    return out;
  }
  Trained train_cut_up(const RunConfig& config, bool interrupted = false) const {
    return train(config, drawn_.parts, interrupted);
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
    for (std::string_view optimizer :
         {"/adam/", "/adamw/", "/adagrad/", "/ftrl/", "/lamb/", "/momentum/", "/rmsprop/"})
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

// Where a model is cut over devices; empty if it is not.
std::string split_of(const Trained& trained) {
  std::size_t at = trained.plan.find("\nsplit: ");
  if (at == trained.plan.npos) return "";
  return trained.plan.substr(at, trained.plan.find('\n', at + 1) - at);
}

// The same bits, and memory as planned. Less memory or what is computed again may have a model cut
// over its devices elsewhere, which changes the order of sums.
void expect_bits(const RandomTraining& training, const Trained& got, const Trained& wanted,
                 const std::string& how) {
  expect_no_more_than_planned(got, how);
  bool cut_alike = split_of(got) == split_of(wanted);
  if (cut_alike || training.drawn().is_the_same_cut_up())
    expect_same(got, wanted, cut_alike ? 0 : allowed_by_order, how);
}

// With less memory: the same bits, or an error that says that it does not suffice.
bool fits(const RandomTraining& training, const Trained& wanted, double fraction) {
  Devices with_limits;
  RunConfig config = training.cut_up();
  std::int64_t limit =
      static_cast<std::int64_t>(fraction * static_cast<double>(wanted.watch->fullest()));
  config.memory_limit = Bytes(limit);
  std::string how = concat("within ", limit, " bytes");
  try {
    Trained less = training.train_cut_up(config);
    expect_bits(training, less, wanted, how);
    EXPECT_LE(less.watch->fullest(), limit) << how;
    return true;
  } catch (const Error& error) {
    EXPECT_LT(fraction, 1) << error.what();
    EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr("would fit"));
    return false;
  }
}

// Other ways to the same bits.
void check_ways(const RandomTraining& training, const Trained& wanted, PhiloxStream& random) {
  auto check = [&](const RunConfig& config, const std::string& how, bool interrupted = false) {
    Trained got = training.train_cut_up(config, interrupted);
    expect_bits(training, got, wanted, how);
  };
  RunConfig again = training.cut_up();
  if (random.below(2) == 0) {
    again.recompute = {.scopes = {""}};
    check(again, "computed again");
  } else {
    again.recompute = {.automatic = false};
    check(again, "nothing computed again");
  }
  if (random.below(2) == 0) check(training.cut_up(), "interrupted", true);
  if (training.cut_up().devices.size() == 1) return;
  RunConfig sums = training.cut_up();
  sums.bucket = Bytes(random.below(2) == 0 ? 64 : 4 << 20);
  sums.reduction = random.below(2) == 0 ? CrossDevice::shared : CrossDevice::to_one_device;
  if (random.below(2) == 0) sums.variables = VariablePlacement::central;
  check(sums, concat(sums.variables, " variables, reduction ", sums.reduction, ", buckets of ",
                     sums.bucket.count, " bytes"));
}

// How many of what was tried came about.
struct Tally {
  int with_less_memory = 0, cut_up = 0, scaled = 0;
};

void check(std::uint64_t seed, Tally& tally) {
  Drawn drawn = draw(seed);
  SCOPED_TRACE(concat("seed ", seed, ": ", drawn.towers, " towers of ", drawn.devices_each,
                      " devices, ", drawn.parts, " parts, ", drawn.update.optimizer.name, ", ",
                      drawn.floating, ", ", drawn.precision));
  RandomTraining training(drawn);
  Trained wanted = training.train_cut_up(training.cut_up());
  expect_no_more_than_planned(wanted, "as drawn");
  tally.scaled += drawn.precision == Precision::f16 && wanted.watch->applied > 0;
  if (std::getenv("BELFRY_RANDOM_ONLY")) std::cout << wanted.plan << std::endl;
  if (drawn.is_the_same_cut_up() && (drawn.towers * drawn.devices_each * drawn.parts) > 1) {
    expect_same(wanted, training.train(training.config(1, 1), 1), allowed_by_order, "cut up");
    ++tally.cut_up;
  }
  PhiloxStream random(philox_key(seed, "ways"));
  check_ways(training, wanted, random);
  fits(training, wanted, 1);
  for (double fraction : {0.97, 0.85}) tally.with_less_memory += fits(training, wanted, fraction);
}

TEST(RandomTraining, IsTheSameHoweverItIsCutUp) {
  std::int64_t only = from_environment("BELFRY_RANDOM_ONLY", -1);
  Tally tally;
  if (only >= 0) return check(static_cast<std::uint64_t>(only), tally);
  std::int64_t first = from_environment("BELFRY_RANDOM_SEED", 0);
  std::int64_t count = from_environment("BELFRY_RANDOM_TRAININGS", 24);
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      check(static_cast<std::uint64_t>(first + i), tally);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << first + i << ": " << error.what();
    }
  }
  tell_count(count, "random trainings");
  std::cout << tally.with_less_memory << " trainings with less memory, " << tally.cut_up
            << " compared with one that is not cut up, " << tally.scaled
            << " in f16 that changed variables\n";
  EXPECT_GT(tally.with_less_memory, 0);
  EXPECT_GT(tally.cut_up, 0);
  EXPECT_GT(tally.scaled, 0);
}

}  // namespace
}  // namespace belfry::random_models
