// Covers EstimatorSpec::summaries: what hooks see of them, and that asking for them changes no bit.

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/train/model/model.h"
#include "comparing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

/// Asks in each step that is a multiple of `every`, and keeps what comes.
struct Asks final : Hook {
  explicit Asks(std::int64_t every = 1) : every(every) {}
  void before_step(StepRequest& r) override {
    if ((r.step + 1) % every == 0) r.summaries = true;
  }
  void after_step(const StepResult& r) override {
    losses.push_back(r.loss);
    steps.emplace_back(r.summaries.begin(), r.summaries.end());
  }
  // The value in the last step.
  Array value(std::string_view name) const {
    for (const SummaryValue& value : steps.back())
      if (value.name == name) return value.value;
    fail("no summary ", name);
  }
  std::int64_t every;
  std::vector<std::vector<SummaryValue>> steps;
  std::vector<double> losses;
};

std::shared_ptr<Asks> trained(const ModelFn& model, const InputFn& input, RunConfig config,
                              std::int64_t steps = 1, Hooks hooks = {}, std::int64_t every = 1) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = std::move(config)});
  auto asks = std::make_shared<Asks>(every);
  hooks.push_back(asks);
  estimator.train(input, {.max_steps = steps, .hooks = hooks});
  return asks;
}

// w falls from 8 by 1/4 of the mean of x in each step.
EstimatorSpec showing(Scope s, const Batch& batch, Mode mode) {
  EstimatorSpec spec = falling(s, batch, mode);
  Tensor x = batch["x"];
  Tensor w = Variable(*s.graph().find_variable("w")).value();
  spec.summaries = {
      scalar_summary("mean", mean(x)), scalar_summary("one", reshape(w, {1})),
      histogram_summary("x", x), image_summary("image", reshape(x, {x.size(0), 1, 1, 1}), 2),
      text_summary("text", constant(s.graph(), Array::of<std::uint8_t>({'h', 'i', 0})))};
  return spec;
}

const InputFn three = over_and_over({points({1, 3, 8}, {0, 0, 0})});

TEST(TrainingSummaries, AreThoseOfTheStepThatAskedForThem) {
  auto seen = trained(showing, three, saving_nothing(), 4, {}, 2);
  ASSERT_THAT(seen->steps, ElementsAre(IsEmpty(), SizeIs(5), IsEmpty(), SizeIs(5)));
  std::vector<std::string> names;
  for (const SummaryValue& value : seen->steps[1]) names.push_back(value.name);
  EXPECT_THAT(names, ElementsAre("mean", "one", "x", "image", "text"));
  EXPECT_EQ(seen->steps[1][2].kind, SummaryKind::histogram);
  // w is 8, 7, 6, 5 before the steps. What was seen before is not overwritten.
  EXPECT_EQ(seen->steps[1][1].value.item(), 7);
  EXPECT_EQ(seen->steps[3][1].value.item(), 5);
  EXPECT_EQ(seen->value("mean").item(), 4);
  EXPECT_EQ(seen->value("one").shape(), Shape{});
  EXPECT_THAT(numbers(seen->value("x")), ElementsAre(1, 3, 8));
  EXPECT_EQ(seen->value("image").shape(), (Shape{2, 1, 1, 1}));
  EXPECT_THAT(numbers(seen->value("image")), ElementsAre(1, 3));
  EXPECT_THAT(numbers(seen->value("text")), ElementsAre('h', 'i', 0));
}

TEST(TrainingSummaries, AreOfTheWholeStepAsScalarsAndOfTheFirstPartElse) {
  struct Case {
    int towers, devices_each, parts;
  };
  // Three rows are 2 + 1.
  for (Case c : {Case{1, 1, 2}, Case{2, 1, 1}, Case{1, 2, 2}}) {
    auto seen = trained(showing, three, on_cpus(c.towers, c.devices_each), 2,
                        {std::make_shared<AsksForMicroBatches>(c.parts)});
    EXPECT_EQ(seen->value("mean").item(), 4) << c.towers << c.parts;
    EXPECT_THAT(numbers(seen->value("x")), ElementsAre(1, 3)) << c.towers << c.parts;
  }
}

TEST(TrainingSummaries, FollowBatchesOfAnotherShape) {
  auto seen = trained(showing, over_and_over({points({1, 3, 8}, {0, 0, 0}), points({5}, {0})}),
                      on_cpus(2, 1), 2);
  EXPECT_THAT(numbers(seen->steps[0][2].value), ElementsAre(1, 3));
  EXPECT_EQ(seen->value("mean").item(), 5);  // the second tower has no row
  EXPECT_THAT(numbers(seen->value("image")), ElementsAre(5));
}

TEST(TrainingSummaries, AreNoneOfAModelThatHasNone) {
  EXPECT_THAT(trained(falling, three, saving_nothing(), 2)->steps,
              ElementsAre(IsEmpty(), IsEmpty()));
}

// Every element of x counts twice, or not at all: all sums are exact.
ModelFn dropping(std::size_t sub_steps) {
  return [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable w = s.variable("w", {});
    Tensor dropped = dropout(s / "drop", batch["x"], {.rate = 0.5f, .training = true});
    Tensor loss = mean(dropped) + w.value();
    return {.loss = loss,
            .train = sgd({.learning_rate = 1}),
            .summaries = {scalar_summary("loss", loss), histogram_summary("x", dropped)},
            .round = std::vector<SubStep>(sub_steps)};
  };
}

// The summaries are of the last sub-step: its batch, the variables as those before left them, its
// random numbers.
TEST(TrainingSummaries, AreWhatTheLastSubStepComputes) {
  Features ones = points(std::vector<float>(64, 1), std::vector<float>(64, 0));
  Features twos = points(std::vector<float>(64, 2), std::vector<float>(64, 0));
  auto seen = trained(dropping(2), over_and_over({ones, twos}), saving_nothing(), 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seen->steps[i][0].value.item(), seen->losses[i]) << i;
  EXPECT_FALSE(identical(seen->steps[0][1].value, seen->steps[1][1].value));  // of the same batch
  double sum = 0;
  for (double x : numbers(seen->value("x"))) {
    EXPECT_TRUE(x == 0 || x == 4) << x;
    sum += x;
  }
  EXPECT_EQ(seen->losses[2], sum / 64 - 5);  // w has fallen by 1 in each of five sub-steps
}

// Shows what lies inside chains that are fused otherwise.
ModelFn layered(bool shows, std::size_t sub_steps) {
  return [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor product = dense(s / "a", batch["x"], {.units = 16, .use_bias = false});
    Tensor linear = product + s.variable("bias", {.shape = {16}}).value();
    Tensor normal = batch_norm(s / "norm", linear, {.training = true});
    Tensor active = gelu(normal);
    Tensor dropped = dropout(s / "drop", active, {.rate = 0.25f, .training = true});
    Tensor logits = dense(s / "b", dropped, {.units = 3});
    Tensor errors = sparse_softmax_cross_entropy(logits, batch["label"]);
    EstimatorSpec spec{.loss = mean(errors), .train = adam()};
    if (sub_steps > 1) spec.round.resize(sub_steps);
    if (!shows) return spec;
    spec.summaries = {scalar_summary("mean", mean(active)), histogram_summary("errors", errors)};
    for (Tensor t : {product, linear, normal, active, dropped, logits})
      spec.summaries.push_back(histogram_summary(text(t.node().id()), t));
    return spec;
  };
}

TEST(TrainingSummaries, ChangeNoBit) {
  InputFn input = over_and_over({labelled_rows(12, 0), labelled_rows(7, 1)});
  struct Case {
    const char* name;
    int towers = 1, devices_each = 1, parts = 1;
    std::size_t sub_steps = 1;
    Precision precision = Precision::f32;
    VariablePlacement variables = VariablePlacement::mirrored;
  };
  const VariablePlacement central = VariablePlacement::central;
  for (const Case& c : {Case{.name = "one tower"}, Case{.name = "two towers", .towers = 2},
                        Case{.name = "central", .towers = 2, .variables = central},
                        Case{.name = "parts of towers", .towers = 2, .parts = 3},
                        Case{.name = "rounds", .sub_steps = 3},
                        Case{.name = "bf16", .parts = 2, .precision = Precision::bf16},
                        Case{.name = "split", .devices_each = 2, .parts = 2}}) {
    RunConfig config = on_cpus(c.towers, c.devices_each);
    config.precision = c.precision;
    config.variables = c.variables;
    if (c.devices_each > 1) config.split = auto_split(c.devices_each);
    auto after = [&](bool shows, std::int64_t every) {
      return variables_after(
          layered(shows, c.sub_steps), config, input, 6,
          {std::make_shared<AsksForMicroBatches>(c.parts), std::make_shared<Asks>(every)});
    };
    SCOPED_TRACE(c.name);
    NamedArrays asked = after(true, 2);
    expect_identical(asked, after(true, 100));
    // An automatic split weighs the work of summaries too.
    if (c.devices_each == 1) expect_identical(asked, after(false, 100));
  }
}

TEST(TrainingSummaries, MustNotBeFewerInALaterPart) {
  int calls = 0;
  ModelFn model = [&](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = showing(std::move(s), batch, mode);
    if (++calls > 1) spec.summaries.pop_back();
    return spec;
  };
  EXPECT_THAT(error_of([&] {
                trained(model, three, saving_nothing(), 1,
                        {std::make_shared<AsksForMicroBatches>(2)});
              }),
              HasSubstr("another number of summaries for a later micro-batch"));
}

// A tower that fails in the summaries' plan leaves the others' reductions fit for later steps.
TEST(TrainingSummaries, MayFailOnOneOfSeveralTowers) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.summaries = {scalar_summary("log", mean(log(batch["x"])))};
    return spec;
  };
  RunConfig config = on_cpus(2, 1);
  config.check_numerics = true;
  TemporaryFolder folder;
  CapturedLog log;
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  Features good = points({1, 3}, {0, 0}), bad = points({1, -2}, {0, 0});
  InputFn input = over_and_over({good, good, bad, good});
  EXPECT_THAT(
      error_of([&] { estimator.train(input, {.steps = 4, .hooks = {std::make_shared<Asks>()}}); }),
      HasSubstr("while computing summaries"));
  // On after step 2, with the batch after the one that failed; a step takes 1/4 of the mean, 2.
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 3);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 3 * 0.5);
}

// Its arena is that of the forward pass alone, which keeps no activations for a backward pass.
TEST(TrainingSummaries, TakeLessMemoryThanAStep) {
  auto deep = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    for (int i = 0; i < 6; ++i) x = tanh(dense(s / concat("layer", i), x, {.units = 16}));
    Tensor logits = dense(s / "out", x, {.units = 3});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = adam(),
            .summaries = {histogram_summary("logits", logits)}};
  };
  Model model(deep, Mode::train, signature_of(labelled_rows(256, 0)), {});
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  auto plan = model.compile_summaries(devices);
  EXPECT_EQ(plan->outputs.size(), 1u);
  const Plan& own = *plan->plans[0];
  EXPECT_EQ(own.first_effect, static_cast<int>(own.instructions.size()));
  EXPECT_LT(own.arena_bytes, model.compile(devices)->plans[0]->arena_bytes / 2);
}

}  // namespace
}  // namespace belfry
