#include "belfry/framework/train/replicated.h"

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor forward(Scope s, Tensor x) {
  return dense(s / "out", relu(dense(s / "in", x, {.units = 4})), {.units = 2});
}
Array noise(std::int64_t rows) {
  Array out(Shape{rows, 3}, DType::f32);
  PhiloxStream random(philox_key(1, "noise"));
  for (float& x : out.span<float>()) x = random.uniform(-1, 1);
  return out;
}
RunConfig on(std::vector<std::string> devices, std::uint64_t seed = 1) {
  RunConfig config = quiet();
  config.devices = std::move(devices);
  config.seed = seed;
  return config;
}
const std::vector<std::vector<std::string>> some_devices{
    {"cpu:0"}, {"cpu:2", "cpu:5"}, {"cpu:0", "cpu:1", "cpu:3"}};

std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

// The result of forward(), in double, from the variables' values.
std::vector<double> expected(const Replicated& model, const Array& x) {
  auto layer = [&](const std::vector<double>& in, std::int64_t units, const std::string& name) {
    Array kernel = model.variable_value(name + "/kernel"),
          bias = model.variable_value(name + "/bias");
    auto rows = kernel.shape()[0];
    std::vector<double> out;
    for (std::int64_t i = 0; i < std::ssize(in) / rows; ++i)
      for (std::int64_t u = 0; u < units; ++u) {
        double sum = bias.at(u);
        for (std::int64_t k = 0; k < rows; ++k)
          sum += in[static_cast<std::size_t>(i * rows + k)] * kernel.at(k * units + u);
        out.push_back(sum);
      }
    return out;
  };
  std::vector<double> hidden = layer(numbers(x), 4, "in");
  for (double& h : hidden) h = std::max(h, 0.0);
  return layer(hidden, 2, "out");
}

TEST(Replicated, GivesTheSameOnAnyDevices) {
  for (const auto& devices : some_devices) {
    Replicated model(forward, on(devices));
    EXPECT_THAT(model.variable_names(), IsEmpty());
    for (std::int64_t rows : {15, 2, 1, 15}) {
      Array y = model(noise(rows));
      ASSERT_EQ(y.type(), (TensorType{Shape{rows, 2}, DType::f32}));
      EXPECT_THAT(numbers(y),
                  ::testing::Pointwise(::testing::DoubleNear(1e-5), expected(model, noise(rows))));
    }
    EXPECT_THAT(model.variable_names(),
                ElementsAre("in/bias", "in/kernel", "out/bias", "out/kernel"));
  }
}

TEST(Replicated, SplitsRowsAsEvenlyAsCanBe) {
  auto who = [](Scope s, const Batch& batch) -> NamedTensors {
    Tensor x = batch["x"];
    return {{"device", broadcast_to(tower_index(s.graph()), Shape{x.size(0)})},
            {"sum", x + batch["y"]}};
  };
  auto devices_of = [&](const std::vector<std::string>& devices, std::int64_t rows) {
    Replicated model(who, on(devices));
    Array x(Shape{rows}, DType::f32), y(Shape{rows}, DType::f32);
    for (std::int64_t i = 0; i < rows; ++i) {
      x.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
      y.span<float>()[static_cast<std::size_t>(i)] = 100;
    }
    Features out = model(Features{{"x", x}, {"y", y}});
    for (std::int64_t i = 0; i < rows; ++i) EXPECT_EQ(out.at("sum").at(i), 100.0 + double(i));
    return numbers(out.at("device"));
  };
  std::vector<double> of_15(15, 0);
  std::fill(of_15.begin() + 8, of_15.end(), 1);
  EXPECT_EQ(devices_of({"cpu:0", "cpu:1"}, 15), of_15);
  EXPECT_THAT(devices_of({"cpu:0", "cpu:1", "cpu:2"}, 4), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(devices_of({"cpu:0", "cpu:1", "cpu:2"}, 2), ElementsAre(0, 1));
  EXPECT_THAT(devices_of({"cpu:0"}, 2), ElementsAre(0, 0));
}

TEST(Replicated, SavesAndLoadsUnderTheModelsNames) {
  TemporaryFolder folder;
  std::string path = folder / "weights.safetensors";
  Replicated one(forward, on({"cpu:0", "cpu:1"}));
  Array y = one(noise(5));
  one.save(path);
  NamedArrays saved = load_safetensors(path).tensors;
  EXPECT_EQ(saved.size(), 4u);
  EXPECT_EQ(numbers(saved.at("in/kernel")), numbers(one.variable_value("in/kernel")));

  for (bool called : {false, true}) {
    Replicated other(forward, on({"cpu:0", "cpu:1", "cpu:2"}, 7));
    if (called) {
      EXPECT_NE(numbers(other(noise(5))), numbers(y));
    }
    other.load(path);
    // The rows are split otherwise, and a product may round a row by how many there are.
    EXPECT_THAT(numbers(other(noise(5))),
                ::testing::Pointwise(::testing::DoubleNear(1e-6), numbers(y)));
  }
}

TEST(Replicated, SharesWeightsWithAnEstimator) {
  TemporaryFolder trained, begun;
  ModelFn model_fn = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor y = forward(s, batch["x"]);
    if (mode == Mode::predict) return {.predictions = {{"y", y}}};
    return {.loss = mean(square(y)), .train = adam()};
  };
  Features batch{{"x", noise(6)}};
  Estimator estimator({.model_fn = model_fn, .model_dir = trained.path(), .run = quiet()});
  estimator.train(over_and_over({batch}), {.steps = 3});
  Replicated model(forward, on({"cpu:0", "cpu:1"}, 7));
  Features predicted;
  estimator.predict(once({batch}), {.single_examples = false}).next(predicted);
  for (const std::string& place : {*estimator.latest_checkpoint(), trained.path()}) {
    model.load(place);
    EXPECT_EQ(numbers(model(noise(6))), numbers(predicted.at("y")));
  }
  EXPECT_THAT(error_of([&] { model.load(begun.path()); }),
              HasSubstr("there is no checkpoint at `" + begun.path() + "`"));

  model.save(checkpoint_path(begun.path(), 0));
  CapturedLog log;
  Estimator next({.model_fn = model_fn, .model_dir = begun.path(), .run = quiet()});
  EXPECT_THAT(next.variable_names(), ElementsAre("in/bias", "in/kernel", "out/bias", "out/kernel"));
  EXPECT_EQ(numbers(next.variable_value("in/kernel")), numbers(model.variable_value("in/kernel")));
  EXPECT_EQ(next.train(over_and_over({batch}), {.steps = 1}).global_step, 1);
}

TEST(Replicated, ErrorsSayWhat) {
  TemporaryFolder folder;
  std::string path = folder / "weights.safetensors";
  Replicated model(forward, on({"cpu:0", "cpu:1"}));
  EXPECT_THAT(error_of([&] { model.save(path); }), HasSubstr("there are no variables to save in"));
  EXPECT_THAT(error_of([&] { model.load(path); }), HasSubstr("weights.safetensors"));
  EXPECT_THAT(error_of([&] { model(noise(0)); }),
              HasSubstr("the input has no rows: input f32[0, 3]"));
  EXPECT_THAT(error_of([&] {
                model(Features{{"image", noise(2)}});
              }),
              HasSubstr("unknown feature `input`; this batch has image"));
  Replicated no_rows([](Scope, Tensor x) { return mean(x); }, on({"cpu:0", "cpu:1"}));
  EXPECT_EQ(
      error_of([&] { no_rows(noise(3)); }),
      "Replicated: result `output` is f32[] for 2 rows; it should have one row an example "
      "(while building the predict model for input f32[2, 3]) (on tower 0, whose row 0 is row 0 "
      "of the batch's 3) (in a call with input f32[3, 3], split over 2 devices)");
  EXPECT_THAT(error_of([] { Replicated(forward, on({"cpu:0", "cpu:0"})); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([] { Replicated(Replicated::Forward{}); }),
              HasSubstr("no forward function"));

  save_safetensors(path, {{"in/bias", Array::zeros({4})}});
  model.load(path);  // which variables the model has is not known yet
  std::string missing = path + " does not fit the model:\n  missing: `in/kernel` f32[3, 4]\n";
  std::string remedy = "load weights of this model, or undo the change to it";
  EXPECT_EQ(error_of([&] { model(noise(2)); }),
            missing + "  missing: `out/kernel` f32[4, 2]\n  missing: `out/bias` f32[2]\n" + remedy
                + " (in a call with input f32[2, 3], split over 2 devices)");
  Replicated called(forward, on({"cpu:0"}));
  Array before = called(noise(2));
  EXPECT_EQ(error_of([&] { called.load(path); }),
            missing + "  missing: `out/bias` f32[2]\n  missing: `out/kernel` f32[4, 2]\n" + remedy);
  EXPECT_EQ(numbers(called(noise(2))), numbers(before));
  EXPECT_THAT(error_of([&] {
                called(Array::zeros({2, 4}));
              }),
              HasSubstr("variable `in/kernel` is f32[3, 4] but the model asks for f32[4, 4]; a "
                        "variable has one type"));
}

// On one device, where nothing has to be cut, as on two.
TEST(Replicated, InputsAreChecked) {
  for (const auto& devices : {some_devices[0], some_devices[1]}) {
    Replicated first(
        [](Scope, const Batch& batch) {
          return NamedTensors{{"y", batch["x"]}};
        },
        on(devices));
    auto error_with = [&](const Array& unused) {
      return error_of([&] {
        first({{"scalar", Array::scalar(1.f)}, {"x", noise(2)}, {"unused", unused}});
      });
    };
    EXPECT_EQ(error_with(noise(3)),
              "Replicated: input `unused` is f32[3, 3] but `x` is f32[2, 3]; all inputs have as "
              "many rows, or no axes (a scalar)");
    EXPECT_EQ(error_with(Array()),
              "Replicated: input `unused` is undefined: an Array() without type and elements");
    EXPECT_EQ(error_with(noise(2)), "no error");
  }
}

TEST(Replicated, VariablesComeWithTheFirstCall) {
  Replicated model(forward, on({"cpu:0"}));
  EXPECT_EQ(error_of([&] { model.variable_value("in/kernel"); }),
            "Replicated: there is no variable `in/kernel` yet; the first call of the model makes "
            "them");
  model(noise(1));
  EXPECT_EQ(error_of([&] { model.variable_value("kernel"); }),
            "there is no variable `kernel`; the model has in/bias, in/kernel, out/bias, "
            "out/kernel");
}

}  // namespace
}  // namespace belfry
