// Towers with few rows, with none, and with other features than before.

#include <numeric>

#include "belfry/framework/train/model/model.h"
#include "towers_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

// Undefined for one row: its spread is divided by n - 1.
EstimatorSpec with_spread(Scope s, const Batch& batch, Mode) {
  Tensor logits = dense(s / "logits", batch["x"], {.units = classes});
  Tensor centred = logits - mean(logits, {.axes = {0}, .keep_dims = true});
  Tensor spread = sum(centred * centred) / static_cast<double>(batch.rows() - 1);
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])) + spread * 0.01,
          .train = adam({.learning_rate = 0.01})};
}

TEST(UnevenTowers, WhatOneWithoutRowsComputesCountsForNothing) {
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  // The third batch has no partner, so that the second tower computes on one row of it.
  std::vector<Features> three = batches_of({4, 4, 4}), last = {three[2]};
  Trained two = train(with_spread, config, once(three));
  EXPECT_EQ(two.curve->rows, std::vector<std::int64_t>({8, 4}));
  for (const auto& [name, value] : two.variables)
    for (std::int64_t i = 0; i < value.elements(); ++i)
      ASSERT_TRUE(std::isfinite(value.at(i))) << name;
}

TEST(UnevenTowers, ALookUpOfOtherThanFeaturesIsSummedAlikeEverywhere) {
  // Each tower looks up its rows' ids and four that do not follow the rows.
  ModelFn sampled = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable table = s.variable("table", {.shape = {1000, 4}, .initializer = normal(0, 0.1)});
    Tensor drawn = constant(s.graph(), Array::of<std::int64_t>({1, 2, 3, 4}));
    Tensor found = gather(table, concat({batch["label"], drawn}, 0));
    Tensor logits = dense(s / "logits", batch["x"], {.units = classes});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"]))
                    + mean(sum(gather(table, batch["label"]), {.axes = {1}})) + mean(found) * 0.0,
            .train = sgd({.learning_rate = 0.1})};
  };
  InputFn input = over_and_over(batches_of({15, 16}));
  Trained one = train(sampled, on(1), input, 4), two = train(sampled, on(2), input, 4);
  EXPECT_LT(largest_difference(one.variables, two.variables), 1e-6);
}

// Rows of ids [n, width] into a table that is worth exchanging by rows.
Features with_ids(std::int64_t rows, std::int64_t width) {
  Features batch = labelled_rows(rows, static_cast<std::uint64_t>(width));
  Array ids(Shape{rows, width}, DType::i64);
  std::int64_t next = 0;
  for (std::int64_t& id : ids.span<std::int64_t>()) id = next++ * 7 % 1000;
  batch.set("ids", ids);
  return batch;
}

EstimatorSpec with_embedding(Scope s, const Batch& batch, Mode) {
  Tensor words = embedding(s / "words", batch["ids"], {.rows = 1000, .width = 4});
  Tensor logits = dense(s / "logits", mean(words, {.axes = {1}}), {.units = classes});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = sgd({.learning_rate = 0.1})};
}

TEST(UnevenTowers, TextsMayBeOfOtherLengths) {
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  std::vector<Features> data{with_ids(4, 2), with_ids(4, 3), with_ids(5, 2), with_ids(4, 2)};
  Trained all = train(with_embedding, config, over_and_over(data), 4);
  EXPECT_EQ(all.curve->rows, std::vector<std::int64_t>({8, 9, 8, 9}));
}

TEST(UnevenTowers, PartsOfOneWithoutRowsAreSummedLikeTheOthers) {
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  InputFn input = once({with_ids(6, 2), with_ids(6, 2), with_ids(6, 2)});
  Trained parts =
      train(with_embedding, config, input, 20, {std::make_shared<AsksForMicroBatches>(3)});
  Trained whole = train(with_embedding, config, input, 20);
  EXPECT_EQ(parts.curve->rows, std::vector<std::int64_t>({12, 6}));
  EXPECT_LT(largest_difference(parts.variables, whole.variables), 1e-6);
}

TEST(UnevenTowers, OneWithoutRowsHasAsManyPartsAsTheOthers) {
  std::vector<std::int64_t> rows_of_parts;
  ModelFn model = [&](Scope s, const Batch& batch, Mode mode) {
    if (mode == Mode::train) rows_of_parts.push_back(batch.rows());
    return with_spread(std::move(s), batch, mode);
  };
  RunConfig config = on(2);
  config.batch = BatchPolicy::per_tower;
  Trained two = train(model, config, once(batches_of({8, 8, 8})), 20,
                      {std::make_shared<AsksForMicroBatches>(4)});
  // The full step's model, then that of the tower with a lent row.
  EXPECT_THAT(rows_of_parts, ElementsAre(2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1));
  for (const auto& [name, value] : two.variables) EXPECT_TRUE(std::isfinite(value.at(0))) << name;
}

// A feature that only some batches have is not taken from an earlier one.
EstimatorSpec maybe_weighted(Scope s, const Batch& batch, Mode) {
  Variable w = s.variable("w", {.initializer = constant_value(1)});
  Tensor x = w.value() * batch["x"];
  if (batch.contains("factor")) x = x * batch["factor"];
  return {.loss = mean(x), .train = sgd({.learning_rate = 0.1})};
}

TEST(UnevenTowers, FeaturesAreThoseOfTheBatch) {
  Features with = points({1, 2}, {0, 0}), without = with;
  with.set("factor", Array::of({10.f, 10.f}, Shape{2, 1}));
  for (int towers : {1, 2}) {
    CapturedLog log;
    TemporaryFolder folder;
    Estimator estimator(
        {.model_fn = maybe_weighted, .model_dir = folder.path(), .run = on(towers)});
    EXPECT_EQ(estimator.evaluate(once({with})).at("loss"), 15);
    EXPECT_EQ(estimator.evaluate(once({without})).at("loss"), 1.5);
    EXPECT_EQ(estimator.evaluate(once({with, without})).at("loss"), 8.25);
  }
}

TEST(UnevenTowers, EvaluatedSumsAreThoseOfBatches) {
  ModelFn model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable w = s.variable("w", {.initializer = constant_value(1)});
    return {.loss = sum(w.value() * batch["x"]),
            .train = sgd(),
            .loss_over_towers = TowerReduction::sum};
  };
  // Batches of 3 and 1 rows that sum to 6 and 10: (3 x 6 + 1 x 10) / 4.
  InputFn input = once({points({1, 2, 3}, {0, 0, 0}), points({10}, {0})});
  for (int towers : {1, 2, 3}) {
    CapturedLog log;
    TemporaryFolder folder;
    Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on(towers)});
    EXPECT_EQ(estimator.evaluate(input).at("loss"), 7) << towers;
  }
}

}  // namespace
}  // namespace belfry
