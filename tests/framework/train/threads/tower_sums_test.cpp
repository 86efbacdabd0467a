// Layers, losses and gradients that look at all towers within a step.

#include <algorithm>

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/train/model/model.h"
#include "towers_testing.h"

namespace belfry {
namespace {

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
    EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6) << towers;
    EXPECT_NEAR(one.curve->losses.back(), many.curve->losses.back(), 1e-5);
  }
  Trained apart = train(with_batch_norm(false), on(2), input);
  forget_idle_bias(apart);
  EXPECT_GT(largest_difference(one.variables, apart.variables), 1e-3);
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
    EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6) << towers;
    EXPECT_NEAR(one.curve->losses[5], many.curve->losses[5], 1e-6);
  }
}

EstimatorSpec table_trained_by(const Optimizer& optimizer, Scope s, const Batch& batch) {
  Tensor found = embedding(s / "words", batch["ids"], {.rows = 1000, .width = 4});  // [n, 3, 4]
  Tensor again = embedding_lookup(trainable_variables(s.graph(), "words")[0], batch["label"]);
  Tensor logits = dense(s / "logits", mean(found, {.axes = {1}}) * again, {.units = classes});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = optimizer};
}

EstimatorSpec with_table(Scope s, const Batch& batch, Mode) {
  return table_trained_by(adagrad({.learning_rate = 0.1}), s, batch);
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
    Trained many = train(with_table, on(towers), input, 20,
                         {std::make_shared<AsksForMicroBatches>(towers == 3 ? 2 : 1)});
    EXPECT_LT(largest_difference(one.variables, many.variables), 1e-6) << towers;
  }
}

// Rows that no tower looked up wait on all of them, however the gradients are exchanged.
TEST(SparseGradients, LazyRulesEqualOneTower) {
  InputFn input = over_and_over(with_ids(batches_of(uneven_rows)));
  for (const Optimizer& optimizer : {momentum({.learning_rate = 0.1, .lazy = true}),
                                     adam({.learning_rate = 0.01, .lazy = true})}) {
    ModelFn model = [=](Scope s, const Batch& batch, Mode) {
      return table_trained_by(optimizer, s, batch);
    };
    Trained one = train(model, on(1), input);
    for (int towers : {2, 3}) {
      Trained many = train(model, on(towers), input, 20,
                           {std::make_shared<AsksForMicroBatches>(towers == 3 ? 2 : 1)});
      EXPECT_LT(largest_difference(one.variables, many.variables), 2e-5)
          << optimizer.name << " on " << towers;
    }
  }
}

TEST(SparseGradients, TheTableIsUpdatedByRows) {
  Features batch = with_ids(batches_of({6}))[0];
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  for (int towers : {1, 2}) {
    Model model(with_table, Mode::train, signature_of(batch), {},
                {.towers = towers, .most_rows = 6});
    auto plan = model.compile(devices);
    for (const PlannedBlock& block : plan->plans[0]->blocks)
      EXPECT_NE(block.type.shape, (Shape{1000, 4})) << block.name << " on " << towers;
  }
}

TEST(SparseGradients, TheTableIsNotExchanged) {
  Features batch = with_ids(batches_of({6}))[0];
  Model model(with_table, Mode::train, signature_of(batch), {}, {.towers = 2, .most_rows = 6});
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  auto plan = model.compile(devices);
  std::int64_t exchanged = 0;
  for (const Instruction& i : plan->plans[0]->instructions)
    if (i.role == Instruction::Role::start)
      for (const TensorType& type : i.node->outputs()) exchanged += type.shape.elements();
  // 48 = 2 towers x 6 rows x 4 ids: rows of 4 and indices; 15 weights of the dense layer; the loss.
  EXPECT_EQ(exchanged, 48 * 4 + 48 + 15 + 1);
}

// The gradients of the last layer are on their way before those of the first are computed.
TEST(GradientBuckets, StartWhileTheBackwardPassGoesOn) {
  ModelFn model_fn = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x =
        batch_norm(s / "norm", dense(s / "hidden", batch["x"], {.units = 8}), {.training = true});
    Tensor logits = dense(s / "logits", x, {.units = classes});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  Model model(model_fn, Mode::train, signature_of(labelled_rows(6, 0)), {},
              {.towers = 2, .bucket = Bytes(1)});
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  auto plan = model.compile(devices);
  std::vector<const Node*> nodes, sums;  // as they run
  for (const Instruction& i : plan->plans[0]->instructions) {
    if (i.role == Instruction::Role::start) sums.push_back(i.node);
    nodes.push_back(i.node);
  }
  auto place = [&](const Node* node) { return std::ranges::find(nodes, node) - nodes.begin(); };
  // Two variables a layer; then the moving statistics, and the loss.
  ASSERT_EQ(sums.size(), 8u);
  EXPECT_EQ(sums[0]->as<AllReduceOptions>().name, "bucket 0 of sgd");
  EXPECT_EQ(sums[5]->as<AllReduceOptions>().name, "bucket 5 of sgd");
  EXPECT_LT(place(sums[0]), place(&sums[2]->input(0).node()));
  EXPECT_LT(place(sums[2]), place(&sums[4]->input(0).node()));
}

// A hook that leaves out a variable's gradient spares its reduction, and its computation.
TEST(GradientBuckets, HoldWhatTowersHooksLeave) {
  struct LeaveOut final : Hook {
    void on_tower_gradients(GradientStage& stage) override {
      std::erase_if(stage.gradients,
                    [](const auto& g) { return g.variable.name().starts_with("hidden"); });
    }
  };
  ModelFn model_fn = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = relu(dense(s / "hidden", batch["x"], {.units = 8}));
    Tensor logits = dense(s / "logits", x, {.units = classes});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  Model model(model_fn, Mode::train, signature_of(labelled_rows(6, 0)),
              {std::make_shared<LeaveOut>()}, {.towers = 2});
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  std::int64_t exchanged = 0;
  auto plan = model.compile(devices);
  for (const Instruction& i : plan->plans[0]->instructions)
    if (i.role == Instruction::Role::start)
      for (const TensorType& type : i.node->outputs()) exchanged += type.shape.elements();
  EXPECT_EQ(exchanged, 8 * 3 + 3 + 1);  // those of `logits`, and the loss
}

// A mean is computed where its operand is, not where the batch is.
TEST(GradientBuckets, StatisticsStayOnTheirDevice) {
  ModelFn model_fn = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Scope second = s.on(1);
    Tensor x = dense(s / "hidden", batch["x"], {.units = 8});
    x = batch_norm(second / "norm", x, {.training = true});
    Tensor logits = dense(second / "logits", x, {.units = classes});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  Model model(model_fn, Mode::train, signature_of(labelled_rows(6, 0)), {}, {.towers = 2});
  auto first = find_device("cpu:0"), second = find_device("cpu:1");
  std::vector<Device*> devices{first.get(), second.get()};
  auto plan = model.compile(devices);
  auto statistics = [&](std::size_t device) {
    return std::ranges::count_if(plan->plans[device]->instructions, [](const Instruction& i) {
      return i.role == Instruction::Role::start
             && i.node->as<AllReduceOptions>().name.starts_with("statistics");
    });
  };
  EXPECT_EQ(statistics(0), 0);
  EXPECT_EQ(statistics(1), 1);
}

}  // namespace
}  // namespace belfry
