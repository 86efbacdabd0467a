// A model on several devices is the model on one.

#include "../comparing.h"
#include "belfry/framework/ops/transfer.h"
#include "belfry/framework/train/model/model.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

InputFn rows_of(std::vector<std::int64_t> rows) {
  std::vector<Features> batches;
  for (std::size_t i = 0; i < rows.size(); ++i) batches.push_back(labelled_rows(rows[i], i));
  return over_and_over(batches);
}

struct Extras {
  bool norm = false;
  bool tied = false;
};

// An encoder on device 0 and a head on `device`.
ModelFn two_parts(int device, Extras o = {}) {
  return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    bool training = mode == Mode::train;
    Scope encoder = s / "encoder", head = (s / "head").on(device);
    Tensor x = dense(encoder / "a", batch["x"], {.units = 8});
    if (o.norm) x = batch_norm(encoder / "norm", x, {.training = training, .momentum = 0.5});
    x = dropout(encoder / "drop", relu(x), {.rate = 0.25f, .training = training});
    x = tanh(dense(head / "b", x, {.units = 6}));
    if (o.norm) x = batch_norm(head / "norm", x, {.training = training, .momentum = 0.5});
    if (o.tied) {
      Variable first = Variable(*s.graph().find_variable("encoder/a/kernel"));  // [6, 8]
      Graph::PlacementGuard guard(s.graph(), head.placement());
      x = matmul(x, first);
    }
    Tensor logits = dense(head / "logits", x, {.units = 3});
    Tensor loss = mean(sparse_softmax_cross_entropy(logits, batch["label"]));
    Tensor best = argmax(logits, 1);
    if (mode == Mode::predict) return {.predictions = {{"class", best}, {"logits", logits}}};
    return {.loss = loss,
            .train = {minimize(loss, adam({.learning_rate = 1e-2}),
                               trainable_variables(s.graph(), "encoder")),
                      minimize(loss, momentum({.learning_rate = 0.05}),
                               trainable_variables(s.graph(), "head"))},
            .metrics = {{"accuracy", accuracy(batch["label"], best)}},
            .values = {{"logit", mean(logits)}}};
  };
}

// The cut is at a product, where no kernels are fused, and each device has one thread: the kernels
// are the same, and so are the bits.
TEST(Split, GivesTheBitsOfTheUnsplitModel) {
  InputFn input = rows_of({12, 7, 12});
  for (Extras o : {Extras{.norm = true}, Extras{.tied = true}}) {
    NamedArrays whole = variables_after(two_parts(0, o), on_cpus(1, 1), input);
    NamedArrays split = variables_after(two_parts(1, o), on_cpus(1, 2), input);
    expect_identical(whole, split);
    EXPECT_TRUE(split.contains("encoder/a/kernel/adam/m"));
  }
}

TEST(Split, TowersOfTwoDevicesEqualOneOfOne) {
  InputFn input = rows_of({12, 7, 2, 5, 1});
  NamedArrays one = variables_after(two_parts(0), on_cpus(1, 1), input);
  EXPECT_LT(largest_difference(one, variables_after(two_parts(1), on_cpus(2, 2), input)), 1e-6);
  RunConfig central = on_cpus(2, 2);
  central.variables = VariablePlacement::central;
  EXPECT_LT(largest_difference(one, variables_after(two_parts(1), central, input)), 1e-6);
}

TEST(Split, MicroBatchesEqualOneBatch) {
  InputFn input = rows_of({12, 7, 2, 5});
  NamedArrays one = variables_after(two_parts(0), on_cpus(1, 1), input);
  struct Case {
    int towers, devices_each;
  };
  for (Case c : {Case{1, 1}, Case{1, 2}, Case{2, 2}}) {
    Hooks three{std::make_shared<AsksForMicroBatches>(3)};
    NamedArrays parts = variables_after(two_parts(c.devices_each - 1),
                                        on_cpus(c.towers, c.devices_each), input, 20, three);
    EXPECT_LT(largest_difference(one, parts), 1e-6) << c.towers << " x " << c.devices_each;
  }
}

TEST(Split, AutoSplitTrainsTheSameModel) {
  InputFn input = rows_of({12, 7, 100, 1});
  NamedArrays one = variables_after(two_parts(0), on_cpus(1, 1), input);
  for (int towers : {1, 2, 3}) {
    RunConfig config = on_cpus(towers, 2);
    config.split = auto_split(2);
    NamedArrays whole = variables_after(two_parts(0), config, input);
    EXPECT_LT(largest_difference(one, whole), 1e-6) << towers << " towers";
    Hooks three{std::make_shared<AsksForMicroBatches>(3)};
    NamedArrays parts = variables_after(two_parts(0), config, input, 20, three);
    EXPECT_LT(largest_difference(one, parts), 1e-6) << towers << " towers, in parts";
  }
}

// One row is as large as a row that is repeated for each of several, and as its gradient. (What is
// made of a gradient of all rows is not the mean of what is made of gradients of some.)
TEST(Split, AutoSplitTrainsWhereOneRowNeedsNoBroadcast) {
  for (bool penalty : {false, true}) {
    ModelFn repeated = [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Tensor row =
          dense(s / "a", s.variable("row", {.shape = {1, 4}, .initializer = ones()}), {.units = 6});
      Tensor y = dense(s / "b", batch["x"] * broadcast_to(row, batch["x"].shape()), {.units = 3});
      Tensor loss = mean(square(y));
      if (penalty) {
        Tensor slope = gradients(loss, {{row}})[0];  // [1, 6]
        loss = loss + mean(square(dense(s / "c", slope, {.units = 2})));
      }
      return {.loss = loss, .train = sgd({.learning_rate = 0.125})};
    };
    InputFn input = rows_of({12, 3, 1});
    NamedArrays one = variables_after(repeated, on_cpus(1, 1), input);
    RunConfig config = on_cpus(penalty ? 1 : 2, 2);
    config.split = auto_split(2);
    EXPECT_LT(largest_difference(one, variables_after(repeated, config, input)), 1e-6) << penalty;
  }
}

// A batch of 400 rows alone would be cut elsewhere than one of a single row, for its activations.
TEST(Split, AutoSplitCutsTowersOfDifferentRowsAlike) {
  InputFn input = rows_of({400, 1});
  RunConfig config = on_cpus(2, 1);
  config.batch = BatchPolicy::per_tower;
  NamedArrays unsplit = variables_after(two_parts(0), config, input, 5);
  config.devices = on_cpus(2, 2).devices;
  config.split = auto_split(2);
  EXPECT_LT(largest_difference(unsplit, variables_after(two_parts(0), config, input, 5)), 1e-6);
}

// Evaluation cuts the model elsewhere than training, for which other bytes count. Variables stay
// where they were made first.
TEST(Split, AutoSplitTrainsWhatWasEvaluatedFirst) {
  CapturedLog log;
  InputFn input = rows_of({12, 7});
  RunConfig config = on_cpus(1, 2);
  NamedArrays one = variables_after(two_parts(0), on_cpus(1, 1), input, 5);
  config.split = auto_split(2);
  TemporaryFolder folder;
  Estimator estimator({.model_fn = two_parts(0), .model_dir = folder.path(), .run = config});
  estimator.evaluate(once({labelled_rows(100, 5)}));
  estimator.train(input, {.steps = 5});
  NamedArrays variables;
  for (const auto& [name, value] : one) variables[name] = estimator.variable_value(name);
  EXPECT_LT(largest_difference(one, variables), 1e-6);
}

TEST(Split, EvaluatesAndPredictsAlike) {
  CapturedLog log;
  RunConfig by_itself = on_cpus(1, 2);
  by_itself.split = auto_split(2);
  struct Case {
    int device;
    RunConfig config;
  };
  std::vector<std::vector<double>> results;
  for (const Case& c : {Case{0, on_cpus(1, 1)}, Case{1, on_cpus(1, 2)}, Case{0, by_itself}}) {
    TemporaryFolder folder;
    RunConfig config = c.config;
    config.save_checkpoint = Steps(100);
    Estimator estimator({.model_fn = two_parts(c.device, {.norm = true}),
                         .model_dir = folder.path(),
                         .run = config});
    estimator.train(rows_of({12, 7}), {.steps = 5});
    // Once with the variables of the training, once with those of its checkpoint.
    for (std::string checkpoint : {std::string(), checkpoint_path(folder.path(), 5)}) {
      EvalResult result = estimator.evaluate(once({labelled_rows(9, 5), labelled_rows(4, 6)}),
                                             {.checkpoint = checkpoint});
      auto& numbers = results.emplace_back();
      numbers = {result.at("loss"), result.at("accuracy")};
      for (const Features& row :
           estimator.predict(once({labelled_rows(5, 7)}), {.checkpoint = checkpoint})) {
        numbers.push_back(row.at("class").item());
        numbers.push_back(row.at("logits").at(0));
      }
    }
  }
  ASSERT_EQ(results[0].size(), 12u);
  for (const auto& numbers : results)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(numbers[i], results[0][i], 1e-6 * std::max(1.0, std::abs(results[0][i]))) << i;
}

// One lane's instructions, as letters: S send, R receive, and the rows of what is sent.
struct Lane {
  std::string order;
  std::vector<std::int64_t> sent_rows;
};
Lane lane_of(const Plan& plan) {
  Lane out;
  for (const Instruction& i : plan.instructions) {
    if (i.role == Instruction::Role::receive) out.order += 'R';
    if (i.role != Instruction::Role::send) continue;
    out.order += 'S';
    out.sent_rows.push_back(i.node->as<TransferOptions>().type.shape[0]);
  }
  return out;
}

// A model whose devices exchange one value a pass: forth the activations, back their gradient.
EstimatorSpec chain(Scope s, const Batch& batch, Mode) {
  Tensor x = dense(s / "a", batch["x"], {.units = 8});
  x = tanh(x);
  Scope there = (s / "b").on(1);
  Tensor y = dense(there, x, {.units = 3});
  Graph::PlacementGuard guard(s.graph(), there.placement());
  return {.loss = mean(square(y - batch["y"])), .train = sgd()};
}

TEST(Split, DevicesWorkOnDifferentMicroBatches) {
  Signature signature{{"x", {{7, 6}, DType::f32}}, {"y", {{7, 3}, DType::f32}}};
  std::vector<std::shared_ptr<Device>> cpus{find_device("cpu:0"), find_device("cpu:1")};
  std::vector<Device*> devices{cpus[0].get(), cpus[1].get()};
  Model model(chain, Mode::train, signature, {}, {.micro_batches = 3});
  auto plan = model.compile(devices, {.threads = 1});
  Lane first = lane_of(*plan->plans[0]), second = lane_of(*plan->plans[1]);
  // The rows of y are cut on device 0 too and go over beside the activations.
  EXPECT_THAT(first.order, StartsWith("SSSSSSRRR"));
  EXPECT_THAT(first.sent_rows, ElementsAre(3, 3, 2, 2, 2, 2));
  // Device 1 begins with the first part when it is there, and ends with that part's gradient.
  EXPECT_EQ(second.order, "RRRRRRSSS");
  EXPECT_THAT(second.sent_rows, ElementsAre(2, 2, 3));
}

TEST(Split, GradientsAreSummedWhereTheirVariablesAre) {
  Signature signature{{"x", {{4, 6}, DType::f32}}, {"y", {{4, 3}, DType::f32}}};
  std::vector<std::shared_ptr<Device>> cpus{find_device("cpu:0"), find_device("cpu:1")};
  std::vector<Device*> devices{cpus[0].get(), cpus[1].get()};
  Model model(chain, Mode::train, signature, {}, {.towers = 2});
  auto plan = model.compile(devices, {.threads = 1});
  auto reduced = [&](std::size_t device) {
    std::vector<std::string> types;
    for (const Instruction& i : plan->plans[device]->instructions)
      if (i.role == Instruction::Role::start && i.node->output().shape.rank() > 0)
        for (const TensorType& type : i.node->outputs()) types.push_back(to_string(type));
    return types;
  };
  EXPECT_THAT(reduced(0), UnorderedElementsAre("f32[6, 8]", "f32[8]"));
  EXPECT_THAT(reduced(1), UnorderedElementsAre("f32[8, 3]", "f32[3]"));
}

TEST(Split, AnErrorOnOneDeviceEndsTheStep) {
  CapturedLog log;
  for (int towers : {1, 2}) {
    TemporaryFolder folder;
    RunConfig config = on_cpus(towers, 2);
    config.reduction_timeout = std::chrono::seconds(60);
    Estimator estimator({.model_fn = two_parts(1), .model_dir = folder.path(), .run = config});
    Features bad = labelled_rows(6, 1);
    bad.set("label", Array::of<std::int64_t>({0, 1, 2, 0, 1, 9}));
    EXPECT_THAT(error_of([&] {
                  estimator.train(once({labelled_rows(6, 0), bad}), {.steps = 2});
                }),
                AllOf(HasSubstr("label"), HasSubstr("9"), HasSubstr("in training step 2"),
                      ::testing::Not(HasSubstr("of another device")),
                      ::testing::Not(HasSubstr("another tower failed"))));
    EXPECT_EQ(estimator.train(rows_of({6}), {.steps = 3}).steps, 3);
  }
}

TEST(Split, ADeviceThatIsNotThereIsAnError) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = two_parts(2), .model_dir = folder.path(), .run = on_cpus(1, 2)});
  EXPECT_THAT(
      error_of([&] { estimator.train(rows_of({6}), {.steps = 1}); }),
      AllOf(HasSubstr("device 2 is asked for by"), HasSubstr("(at head/"),
            HasSubstr("a tower has 2 devices"), HasSubstr("call on() with a device below 2")));
}

TEST(Split, AutoSplitErrors) {
  TemporaryFolder folder;
  RunConfig config = on_cpus(1, 2);
  config.split = auto_split(3);
  EXPECT_THAT(error_of([&] {
                Estimator({.model_fn = two_parts(0), .model_dir = folder.path(), .run = config});
              }),
              HasSubstr("split is into 3 devices but tower cpu:0+cpu:1 has 2"));
  config.split = auto_split(2);
  Estimator by_hand({.model_fn = two_parts(1), .model_dir = folder.path(), .run = config});
  EXPECT_THAT(error_of([&] { by_hand.train(rows_of({6}), {.steps = 1}); }),
              AllOf(HasSubstr("split: the model itself places"), HasSubstr("(at head/")));
}

}  // namespace
}  // namespace belfry
