#include "belfry/framework/train/step/session.h"

#include "../../base/resident_bytes.h"
#include "../training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Memory, DoesNotGrow) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = saving_nothing()});
  auto device = find_device("cpu");
  InputFn input = over_and_over({points({1, 2}, {1, 2}), one_point()});
  InputFn test = once({points({1, 2}, {1, 2}), one_point()});
  auto round = [&](std::int64_t steps) {
    estimator.train(input, {.steps = steps});
    estimator.evaluate(test);
  };
  CapturedLog log;
  round(4);
  Bytes after_one = device->memory_in_use();
  EXPECT_GT(after_one.count, 0);
  std::int64_t warm = 0;
  for (int i = 0; i < 100; ++i) {
    round(50);
    ASSERT_EQ(device->memory_in_use(), after_one) << "after round " << i;
    if (i == 20) warm = resident_bytes();
  }
  // 4,000 steps and 80 evaluations later: a leak of 256 bytes a step would show.
  if (!freed_memory_is_kept) {
    EXPECT_LT(resident_bytes() - warm, 1 << 20);
  }
  EXPECT_EQ(estimator.evaluate(test).at("global_step"), 5004);
}

TEST(Memory, IsGivenBack) {
  auto device = find_device("cpu");
  Bytes before = device->memory_in_use();
  {
    TemporaryFolder dir;
    Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
    estimator.train(over_and_over({one_point()}), {.steps = 1});
    EXPECT_GT(device->memory_in_use(), before);
    estimator.evaluate(once({one_point()}), {.checkpoint = checkpoint_path(dir.path(), 1)});
  }
  EXPECT_EQ(device->memory_in_use(), before);
}

EstimatorSpec wide(Scope s, const Batch& batch, Mode) {
  Tensor x = relu(dense(s / "hidden", batch["x"], {.units = 1000}));
  x = dense(s / "out", x, {.units = 1});
  return {.loss = mean(mean_squared_error(x, batch["y"])), .train = adam()};
}

TEST(Memory, AModelOverTheLimitFailsBeforeAnythingRuns) {
  TemporaryFolder dir;
  RunConfig config = quiet();
  config.memory_limit = Bytes(1 << 20);
  Estimator estimator({.model_fn = wide, .model_dir = dir.path(), .run = config});
  std::vector<float> column(1024, 1.0f);
  struct Never final : Hook {
    void begin(HookContext&) override { ADD_FAILURE() << "training began"; }
  };
  std::string error = error_of([&] {
    estimator.train(over_and_over({points(column, column)}),
                    {.steps = 1, .hooks = {std::make_shared<Never>()}});
  });
  // Activations of 1024 x 1000 floats alone are 4,096,000 bytes. Without instructions for bf16
  // oneDNN multiplies copies in f32, which need more.
  bool bf16_is_less = __builtin_cpu_supports("avx512bf16");
  EXPECT_THAT(error,
              AllOf(StartsWith("the step needs "), HasSubstr(" on cpu:0 but "),
                    HasSubstr(" of 1.0 MiB are free; a batch of "),
                    HasSubstr(" instead of 1024 would fit. It would need\n"),
                    HasSubstr(bf16_is_less ? " in bf16 (RunConfig::precision)" : "It would need\n"),
                    HasSubstr(" on each of two devices (RunConfig::split)"),
                    HasSubstr("largest tensors:"), HasSubstr("3.9 MiB"), HasSubstr("hidden/")));
  EXPECT_TRUE(dir.names().empty());

  // The batch that it names does fit, and one row more does not.
  std::size_t at = error.find("a batch of ") + 11;
  auto rows = static_cast<std::size_t>(std::stoll(error.substr(at)));
  auto train = [&](std::size_t n) {
    std::vector<float> fewer(n, 1.0f);
    Estimator fresh({.model_fn = wide, .model_dir = dir / text(n), .run = config});
    fresh.train(over_and_over({points(fewer, fewer)}), {.steps = 1});
  };
  EXPECT_EQ(error_of([&] { train(rows); }), "no error");
  EXPECT_THAT(error_of([&] { train(rows + 1); }), StartsWith("the step needs "));

  config.memory_limit = Bytes(1000);
  Estimator none({.model_fn = wide, .model_dir = dir.path(), .run = config});
  EXPECT_THAT(error_of([&] { none.evaluate(once({one_point()})); }),
              HasSubstr("not even a batch of 1 would fit. It would need\n"));
}

EstimatorSpec convolution(Scope s, const Batch& batch, Mode) {
  Tensor y = conv2d(batch["x"], s.variable("kernel", {.shape = {3, 3, 32, 32}}));
  return {.loss = mean(square(y)), .train = sgd({.learning_rate = 0.1})};
}

// RunConfig::memory_limit is the device's, for all tests of the process.
class MemoryBesideOthers : public ::testing::Test {
 protected:
  ~MemoryBesideOthers() override { cpu->set_memory_limit(limit); }
  std::shared_ptr<Device> cpu = find_device("cpu");
  Bytes limit = cpu->memory_limit();
};

TEST_F(MemoryBesideOthers, ALimitMayBeAShareOfTheDevice) {
  RunConfig config = quiet();
  config.memory_limit = MemoryLimit::of_device(0.25);
  Session session(convolution, config);
  EXPECT_EQ(cpu->memory_limit().count, cpu->memory().count / 4);
}

// Nobody has 2^60 bytes, whatever the limit says.
TEST_F(MemoryBesideOthers, WhatIsNotThereIsToldBeforeTheFirstStep) {
  RunConfig config = quiet();
  config.memory_limit = Bytes(std::int64_t{1} << 62);
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor w = s.variable("w", {.shape = {std::int64_t{1} << 58}});
    return {.loss = mean(w) + mean(batch["x"]), .train = sgd()};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              AllOf(HasSubstr("the step needs 2097152.0 TiB on cpu:0 but "),
                    HasSubstr(" of 4194304.0 TiB are free beside what other programs hold; ")));
}

TEST(Memory, ConvolutionsAreDirectWhereWinogradsMethodIsOverTheLimit) {
  Features batch{{"x", Array::zeros({4, 16, 16, 32})}};
  auto plan_under = [&](Bytes limit) {
    RunConfig config = quiet();
    config.memory_limit = limit;
    Session session(convolution, config);
    return session.planner()
        .compile(
            Model(convolution, Mode::train, signature_of(batch), {}, session.planner().complete()))
        ->plans[0];
  };
  auto is_winograd = [](const Plan& plan) {
    return std::ranges::any_of(plan.instructions, [](const Instruction& i) {
      return i.kernel && i.kernel->implementation() == "winograd";
    });
  };
  auto plan = plan_under(Bytes(1 << 30));
  EXPECT_TRUE(is_winograd(*plan));
  EXPECT_TRUE(is_winograd(*plan_under(Bytes(plan->bytes()))));
  auto leaner = plan_under(Bytes(plan->bytes() - 1));
  EXPECT_FALSE(is_winograd(*leaner));
  EXPECT_LT(leaner->bytes(), plan->bytes());
}

TEST(Errors, AShapeMismatchNamesItsScope) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Scope down = s / "discriminator" / "down1";
    Variable kernel = down.variable("kernel", {.shape = {3, 3, 1, 8}});
    return {.loss = mean(conv2d(batch["image"], kernel))};
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  Features batch{{"image", Array::zeros({2, 8, 8, 3})}};
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({batch}), {.steps = 1}); }),
              AllOf(StartsWith("conv2d: "), HasSubstr("3 channels"),
                    HasSubstr("while building the train model for image f32[2, 8, 8, 3]")));
}

TEST(Errors, LayersNameTheirScope) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Scope head = s / "head";
    Tensor a = dense(head / "a", batch["x"], {.units = 3});
    Tensor b = dense(head / "b", batch["x"], {.units = 4});
    return {.loss = mean(a + b), .train = sgd()};
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              AllOf(StartsWith("add: "), HasSubstr("[1, 3]"), HasSubstr("[1, 4]"),
                    HasSubstr("(at head/a")));
}

EstimatorSpec classifier(Scope s, const Batch& batch, Mode) {
  Tensor logits = dense(s / "fc", batch["x"], {.units = 10});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
}

TEST(Errors, ALabelOutOfRangeIsNamedAndChangesNothing) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = classifier, .model_dir = dir.path(), .run = saving_every(1)});
  auto batch = [](std::int64_t label) {
    return Features{{"x", Array::zeros({2, 3})}, {"label", Array::of<std::int64_t>({1, label})}};
  };
  EXPECT_THAT(error_of([&] {
                estimator.train(once({batch(2), batch(10)}));
              }),
              AllOf(StartsWith("sparse_softmax_cross_entropy: label 10 at row 1 is outside 0..9"),
                    HasSubstr("(in training step 2)")));
  EXPECT_EQ(estimator.train(over_and_over({batch(3)}), {.steps = 1}).global_step, 2);
}

TEST(Errors, AnUnknownFeatureListsThoseThereAre) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = classifier, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
            "unknown feature `label`; this batch has x, y (while building the train model for x "
            "f32[1, 1], y f32[1, 1]) (in training step 1)");
}

TEST(Errors, WhatIsMissingIsNamed) {
  TemporaryFolder dir;
  Estimator no_model({.model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] { no_model.train(over_and_over({one_point()}), {.steps = 1}); }),
              StartsWith("Estimator: there is no model_fn; set EstimatorOptions::model_fn or "
                         "override model_fn()"));
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  auto nothing = [] { return InputStreamPtr(); };
  EXPECT_EQ(error_of([&] { estimator.train({}, {}); }), "train: there is no input_fn");
  EXPECT_EQ(error_of([&] { estimator.train(nothing); }), "train: input_fn returned no stream");
  EXPECT_EQ(error_of([&] { estimator.evaluate({}); }), "evaluate: there is no input_fn");
  EXPECT_EQ(error_of([&] { estimator.evaluate(nothing); }),
            "evaluate: input_fn returned no stream");
  EXPECT_EQ(error_of([&] { estimator.predict(nothing); }), "predict: input_fn returned no stream");
  EXPECT_EQ(error_of([&] { estimator.explain(nothing); }), "explain: input_fn returned no stream");
  EXPECT_EQ(error_of([&] { estimator.explain(once({})); }), "explain: the input has no batch");
}

}  // namespace
}  // namespace belfry
