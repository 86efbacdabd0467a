#include "belfry/models/heads.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../framework/base/error_of.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

const double ln2 = std::log(2.0), ln3 = std::log(3.0);

// The head alone, on logits that are a feature.
Estimator with(Head head) {
  ModelFn model = [head](Scope, const Batch& batch, Mode mode) {
    return head(batch["logits"], batch, mode, sgd());
  };
  return Estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
}
EvalResult evaluated(const Head& head, const Features& batch) {
  return with(head).evaluate(one_batch(batch));
}
Features predicted(const Head& head, const Features& batch) {
  Features out;
  with(head).predict(one_batch(batch), {.single_examples = false}).next(out);
  return out;
}
std::vector<double> numbers(const Array& a) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.elements(); ++i) out.push_back(a.at(i));
  return out;
}
auto near(std::vector<double> expected) {
  return ::testing::Pointwise(::testing::DoubleNear(1e-6), std::move(expected));
}

Array column(std::vector<double> values) {
  Array out(Shape{std::ssize(values), 1}, DType::f32);
  std::copy(values.begin(), values.end(), out.span<float>().begin());
  return out;
}

// Probabilities 1/2, 3/4, 1/4 and 3/4.
Features yes_or_no() {
  return {{"logits", column({0, ln3, -ln3, ln3})},
          {"paid", Array::of({1, 1, 0, 0})},
          {"times", Array::of({1.0f, 2.0f, 4.0f, 1.0f})}};
}

TEST(BinaryHead, HasTheLossAndMetricsOfYesOrNo) {
  EvalResult r = evaluated(binary_head({.label = "paid", .weight = "times"}), yes_or_no());
  double total = ln2 + (2 + 4) * std::log(4.0 / 3) + 2 * ln2;
  EXPECT_NEAR(r.at("loss"), total / 4, 1e-6);
  EXPECT_NEAR(r.at("average_loss"), total / 8, 1e-6);
  EXPECT_NEAR(r.at("accuracy"), 6.0 / 8, 1e-9);
  EXPECT_NEAR(r.at("accuracy_baseline"), 5.0 / 8, 1e-9);
  EXPECT_NEAR(r.at("precision"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(r.at("recall"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(r.at("label/mean"), 3.0 / 8, 1e-9);
  EXPECT_NEAR(r.at("prediction/mean"), (0.5 + 1.5 + 1 + 0.75) / 8, 1e-6);
  // There are 3 * 5 pairs by weight: 1 * 4 + 2 * 4 are in order and 2 * 1 are equal.
  EXPECT_NEAR(r.at("auc"), 13.0 / 15, 1e-6);
  // Right and all fall from (3, 8) to (3, 4), (2, 3) and (0, 0): the second interval's slope is 1,
  // the third's 2/3.
  EXPECT_NEAR(r.at("auc_pr"), (1 - std::log(4.0 / 3) + 2.0 / 3 * 2) / 3, 1e-9);
}

// Probabilities 1/2, 3/4, 1/4 and 3/4 of labels 1, 1, 0 and 0.
TEST(BinaryHead, EachThresholdHasItsMetrics) {
  EvalResult r = evaluated(binary_head({.label = "paid", .thresholds = {0.3, 0.6}}), yes_or_no());
  EXPECT_NEAR(r.at("accuracy/positive_threshold_0.3"), 3.0 / 4, 1e-9);
  EXPECT_NEAR(r.at("precision/positive_threshold_0.3"), 2.0 / 3, 1e-9);
  EXPECT_EQ(r.at("recall/positive_threshold_0.3"), 1);
  EXPECT_NEAR(r.at("accuracy/positive_threshold_0.6"), 2.0 / 4, 1e-9);
  EXPECT_NEAR(r.at("precision/positive_threshold_0.6"), 1.0 / 2, 1e-9);
  EXPECT_NEAR(r.at("recall/positive_threshold_0.6"), 1.0 / 2, 1e-9);
}

// Losses 0, 9 and 1 of weights 1, 0 and 4.
TEST(Heads, ReduceTheirLossesAsTheySay) {
  Features batch{{"logits", column({1, 3, 5})},
                 {"label", Array::of({1, 0, 4})},
                 {"w", Array::of({1.0f, 0.0f, 4.0f})}};
  auto loss = [&](Reduction reduction) {
    EvalResult r = evaluated(regression_head({.weight = "w", .reduction = reduction}), batch);
    EXPECT_NEAR(r.at("average_loss"), 4.0 / 5, 1e-6);
    return r.at("loss");
  };
  EXPECT_NEAR(loss(Reduction::sum), 4, 1e-6);
  EXPECT_NEAR(loss(Reduction::mean), 4.0 / 3, 1e-6);
  EXPECT_NEAR(loss(Reduction::weighted_mean), 4.0 / 5, 1e-6);
  EXPECT_NEAR(loss(Reduction::mean_by_nonzero_weights), 4.0 / 2, 1e-6);
}

TEST(Heads, EachTakesAReduction) {
  Features batch = yes_or_no();
  auto ratio = [&](auto head, auto options) {
    EvalResult mean = evaluated(head(options), batch);
    options.reduction = Reduction::sum;
    return evaluated(head(options), batch).at("loss") / mean.at("loss");
  };
  EXPECT_NEAR(ratio(binary_head, BinaryHeadOptions{.label = "paid"}), 4, 1e-6);
  EXPECT_NEAR(ratio(poisson_head, PoissonHeadOptions{.label = "paid"}), 4, 1e-6);
  batch.set("logits", Array::of({0.f, 1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 9.f}, Shape{4, 2}));
  EXPECT_NEAR(ratio(multi_class_head, MultiClassHeadOptions{.classes = 2, .label = "paid"}), 4,
              1e-6);
  batch.set("paid", Array::of({0, 1, 1, 0, 1, 1, 0, 0}, Shape{4, 2}));
  EXPECT_NEAR(ratio(multi_label_head, MultiLabelHeadOptions{.classes = 2, .label = "paid"}), 4,
              1e-6);
}

RunConfig on_towers(int towers) {
  RunConfig config = quiet();
  config.devices.clear();
  for (int i = 0; i < towers; ++i) config.devices.push_back(concat("cpu:", i));
  return config;
}

// Losses 1, 9 and 4 of weights 1, 0 and 3. In training the weights of all towers count; an
// evaluation has the mean of each tower, and an average that is exact.
TEST(Heads, AWeightedMeanIsOneOverAllTowersInTraining) {
  Features batch{{"logits", column({1, 3, 2})},
                 {"label", Array::of({0, 0, 4})},
                 {"w", Array::of({1.0f, 0.0f, 3.0f})}};
  Head head = regression_head({.weight = "w", .reduction = Reduction::weighted_mean});
  ModelFn model = [head](Scope s, const Batch& b, Mode mode) {
    Tensor logits = b["logits"] * s.variable("w", {.initializer = ones()});
    return multi_head({{"only", head}})(logits, b, mode, sgd({.learning_rate = 0.5}));
  };
  for (int towers : {1, 2, 3}) {
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = on_towers(towers)});
    EvalResult r = estimator.evaluate(one_batch(batch));
    double mean = towers == 1 ? 13.0 / 4 : towers == 2 ? (2 * 1 + 4) / 3.0 : (1 + 0 + 4) / 3.0;
    EXPECT_NEAR(r.at("loss"), mean, 1e-6) << towers;
    EXPECT_NEAR(r.at("only/loss"), mean, 1e-6) << towers;
    EXPECT_NEAR(r.at("only/average_loss"), 13.0 / 4, 1e-6) << towers;
    estimator.train(one_batch(batch, true), {.steps = 1});
    double gradient = (1 * 2 * 1 * 1 + 3 * 2 * (2 - 4) * 2) / 4.0;
    EXPECT_NEAR(estimator.variable_value("w").item(), 1 - 0.5 * gradient, 1e-6) << towers;
  }
}

// Sums over towers are the sum over all rows, and so is their gradient: d loss / d w = sum of x.
TEST(Heads, ASumIsOneOverAllTowers) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) {
    Tensor logits = batch["logits"] * s.variable("w", {.initializer = ones()});
    Head head = regression_head({.reduction = Reduction::sum});
    return multi_head({{"only", head}})(logits, batch, mode, sgd({.learning_rate = 0.125}));
  };
  Features batch{{"logits", column({1, 3, 5})}, {"label", Array::of({0, 3, 4})}};
  for (int towers : {1, 2, 3}) {
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = on_towers(towers)});
    EvalResult r = estimator.evaluate(one_batch(batch));
    EXPECT_NEAR(r.at("loss"), 2, 1e-6) << towers;
    EXPECT_NEAR(r.at("only/loss"), 2, 1e-6) << towers;
    estimator.train(one_batch(batch, true), {.steps = 1});
    EXPECT_NEAR(estimator.variable_value("w").item(), 1 - 0.125 * 2 * (1 + 5), 1e-6) << towers;
  }
}

TEST(BinaryHead, OptionsCount) {
  BinaryHeadOptions o{.label = "paid", .label_smoothing = 0.5, .threshold = 0.4};
  EvalResult r = evaluated(binary_head(o), yes_or_no());
  EXPECT_NEAR(r.at("precision"), 2.0 / 3, 1e-9);
  EXPECT_EQ(r.at("recall"), 1);
  // Targets 3/4 and 1/4: the loss is ln 2, or less or more of ln 4/3 and ln 4.
  double right = 0.75 * std::log(4.0 / 3) + 0.25 * std::log(4.0);
  double wrong = 0.25 * std::log(4.0 / 3) + 0.75 * std::log(4.0);
  EXPECT_NEAR(r.at("loss"), (ln2 + 2 * right + wrong) / 4, 1e-6);
  Features p = predicted(binary_head(o), yes_or_no());
  EXPECT_THAT(numbers(p.at("probability")), near({0.5, 0.75, 0.25, 0.75}));
  EXPECT_THAT(numbers(p.at("class")), near({1, 1, 0, 1}));
}

TEST(BinaryHead, TakesLabelsOfManyTypes) {
  Features batch = yes_or_no();
  double loss = evaluated(binary_head({.label = "paid"}), batch).at("loss");
  for (DType type : {DType::u8, DType::boolean, DType::i64, DType::f32, DType::f64}) {
    batch.set("paid", Array::of({1, 1, 0, 0}).cast(type));
    EXPECT_EQ(evaluated(binary_head({.label = "paid"}), batch).at("loss"), loss);
  }
  batch.set("paid", column({1, 1, 0, 0}));
  EXPECT_EQ(evaluated(binary_head({.label = "paid"}), batch).at("loss"), loss);
}

TEST(Heads, WeightsMayHaveOneMoreAxis) {
  auto same = [](const Head& head, Features batch, const Array& weights, const Array& longer) {
    batch.set("w", weights);
    EvalResult expected = evaluated(head, batch);
    batch.set("w", longer);
    EvalResult got = evaluated(head, batch);
    for (const char* name : {"loss", "average_loss"}) EXPECT_EQ(got.at(name), expected.at(name));
  };
  Array w = Array::of({1.0f, 2.0f, 4.0f, 1.0f});
  same(binary_head({.label = "paid", .weight = "w"}), yes_or_no(), w, w.reshape({4, 1}));
  same(regression_head({.label = "paid", .weight = "w"}), yes_or_no(), w, w.reshape({4, 1}));
  same(poisson_head({.label = "paid", .weight = "w"}), yes_or_no(), w, w.reshape({4, 1}));
  Features table{{"logits", Array::of({0.0f, 1.0f, 2.0f, 5.0f}, Shape{2, 1, 2})},
                 {"label", Array::of({0, 1}, Shape{2, 1})}};
  Array of_rows = Array::of({1.0f, 2.0f});
  same(multi_class_head({.classes = 2, .weight = "w"}), table, of_rows, of_rows.reshape({2, 1}));
  same(multi_class_head({.classes = 2, .weight = "w"}), table, of_rows, of_rows.reshape({2, 1, 1}));
}

// The check of a label belongs to the logits: to their scope, device and phase.
TEST(BinaryHead, ChecksLabelsBesideTheLogits) {
  Graph graph;
  Batch batch(graph, {{"x", {{2, 3}, DType::f32}}, {"paid", {{2}, DType::i32}}});
  Tensor logits = dense((Scope(graph) / "tower" / "logits").on(1), batch["x"], {.units = 1});
  binary_head({.label = "paid"})(logits, batch, Mode::train);
  int found = 0;
  for (const auto& node : graph)
    if (node->op().name == "check_range") {
      ++found;
      EXPECT_EQ(node->scope(), logits.node().scope() + "/paid");
      EXPECT_EQ(node->device(), 1);
    }
  EXPECT_EQ(found, 1);
}

TEST(MultiClassHead, HasTheLossAndMetricsOfClasses) {
  Features batch{
      {"logits",
       Array::of({0.0f, float(ln2), float(std::log(5.0)), float(ln2), 0.0f, 0.0f}, Shape{2, 3})},
      {"label", Array::of({1, 0})},
      {"w", Array::of({3.0f, 1.0f})}};
  EvalResult r = evaluated(multi_class_head({.classes = 3, .weight = "w"}), batch);
  EXPECT_NEAR(r.at("loss"), 7 * ln2 / 2, 1e-6);
  EXPECT_NEAR(r.at("average_loss"), 7 * ln2 / 4, 1e-6);
  EXPECT_NEAR(r.at("accuracy"), 0.25, 1e-9);
  MultiClassHeadOptions by_class{.classes = 3, .class_weights = {0.5, 2, 7}};
  EXPECT_NEAR(evaluated(multi_class_head(by_class), batch).at("loss"), 4.5 * ln2 / 2, 1e-6);
  by_class.weight = "w";
  r = evaluated(multi_class_head(by_class), batch);
  EXPECT_NEAR(r.at("loss"), 12.5 * ln2 / 2, 1e-6);
  EXPECT_NEAR(r.at("average_loss"), 12.5 * ln2 / 6.5, 1e-6);
  EXPECT_NEAR(r.at("accuracy"), 0.25, 1e-9);
  by_class.classes = 4;
  EXPECT_EQ(error_of([&] { multi_class_head(by_class); }),
            "multi_class_head: there are 3 class_weights for 4 classes");
  Features p = predicted(multi_class_head({.classes = 3}), batch);
  EXPECT_THAT(numbers(p.at("class")), near({2, 0}));
  EXPECT_THAT(numbers(p.at("probabilities")), near({0.125, 0.25, 0.625, 0.5, 0.25, 0.25}));
}

TEST(MultiLabelHead, AsksAboutEachClass) {
  Features batch{{"logits", Array::of({0.0f, float(ln3), float(-ln3), float(ln3)}, Shape{2, 2})},
                 {"label", Array::of({1, 1, 0, 0}, Shape{2, 2})},
                 {"w", Array::of({1.0f, 3.0f})}};
  MultiLabelHeadOptions o{.classes = 2, .weight = "w"};
  EvalResult r = evaluated(multi_label_head(o), batch);
  double first = (ln2 + std::log(4.0 / 3)) / 2, second = (std::log(4.0 / 3) + 2 * ln2) / 2;
  EXPECT_NEAR(r.at("loss"), (first + 3 * second) / 2, 1e-6);
  EXPECT_NEAR(r.at("average_loss"), (first + 3 * second) / 4, 1e-6);
  EXPECT_NEAR(r.at("accuracy"), 4.0 / 8, 1e-9);
  EXPECT_NEAR(r.at("precision"), 1.0 / 4, 1e-9);
  EXPECT_NEAR(r.at("recall"), 1.0 / 2, 1e-9);
  // There are 2 * 6 pairs: 1 * 3 + 1 * 3 are in order and 1 * 3 are equal.
  EXPECT_NEAR(r.at("auc"), 7.5 / 12, 1e-6);
  // Right and all: (2, 8), (2, 5) below 1/2; (1, 4) above it; then (0, 0).
  EXPECT_NEAR(r.at("auc_pr"), (1 - 3 * std::log(5.0 / 4) + 0.25) / 2, 1e-9);
  o.thresholds = {0.4};
  r = evaluated(multi_label_head(o), batch);
  EXPECT_NEAR(r.at("recall/positive_threshold_0.4"), 1, 1e-9);
  Features p = predicted(multi_label_head({.classes = 2}), batch);
  EXPECT_THAT(numbers(p.at("classes")), near({0, 1, 0, 1}));
}

TEST(RegressionHead, IsTheSquaredError) {
  Features batch{
      {"logits", column({1, 3})}, {"label", Array::of({0, 5})}, {"w", Array::of({1.0f, 3.0f})}};
  EvalResult r = evaluated(regression_head({.weight = "w"}), batch);
  EXPECT_NEAR(r.at("loss"), 6.5, 1e-6);
  EXPECT_NEAR(r.at("average_loss"), 13.0 / 4, 1e-6);
  EXPECT_NEAR(r.at("label/mean"), 15.0 / 4, 1e-6);
  EXPECT_NEAR(r.at("prediction/mean"), 10.0 / 4, 1e-6);
  EXPECT_THAT(numbers(predicted(regression_head(), batch).at("value")), near({1, 3}));

  Features pairs{{"logits", Array::of({1.0f, 2.0f, 3.0f, 4.0f}, Shape{2, 2})},
                 {"label", Array::of({1.0f, 0.0f, 0.0f, 4.0f}, Shape{2, 2})}};
  EXPECT_NEAR(evaluated(regression_head({.units = 2}), pairs).at("loss"), (2 + 4.5) / 2, 1e-6);
}

TEST(PoissonHead, LearnsTheLogarithmOfTheMean) {
  Features batch{{"logits", column({0, ln2})}, {"label", Array::of({1, 3})}};
  EvalResult r = evaluated(poisson_head(), batch);
  EXPECT_NEAR(r.at("loss"), (1 + 2 - 3 * ln2) / 2, 1e-6);
  EXPECT_NEAR(r.at("label/mean"), 2, 1e-6);
  EXPECT_NEAR(r.at("prediction/mean"), 1.5, 1e-6);
  EXPECT_THAT(numbers(predicted(poisson_head(), batch).at("mean")), near({1, 2}));
}

TEST(MultiHead, AddsLossesAndNamesTheRest) {
  Head both = multi_head({{"paid", binary_head({.label = "paid"}), 2},
                          {"age", regression_head({.label = "age"}), 0.5}});
  EXPECT_EQ(both.units, 2);
  Features batch{{"logits", Array::of({0.0f, 1.0f, 0.0f, 3.0f}, Shape{2, 2})},
                 {"paid", Array::of({1, 0})},
                 {"age", Array::of({0.0f, 5.0f})}};
  EvalResult r = evaluated(both, batch);
  EXPECT_NEAR(r.at("loss"), 2 * ln2 + 0.5 * 2.5, 1e-6);
  EXPECT_NEAR(r.at("paid/average_loss"), ln2, 1e-6);
  EXPECT_NEAR(r.at("age/average_loss"), 2.5, 1e-6);
  EXPECT_NEAR(r.at("paid/loss"), ln2, 1e-6);
  EXPECT_NEAR(r.at("age/loss"), 2.5, 1e-6);
  EXPECT_NEAR(r.at("paid/label/mean"), 0.5, 1e-6);
  Features p = predicted(both, batch);
  EXPECT_THAT(numbers(p.at("paid/probability")), near({0.5, 0.5}));
  EXPECT_THAT(numbers(p.at("age/value")), near({1, 3}));
}

TEST(MultiHead, AddsSums) {
  Head both =
      multi_head({{"a", regression_head({.label = "a", .reduction = Reduction::sum}), 2},
                  {"b", regression_head({.label = "b", .reduction = Reduction::sum}), 0.5}});
  Features batch{{"logits", Array::of({0.0f, 1.0f, 0.0f, 3.0f}, Shape{2, 2})},
                 {"a", Array::of({0.0f, 2.0f})},
                 {"b", Array::of({1.0f, 6.0f})}};
  EvalResult r = evaluated(both, batch);
  EXPECT_NEAR(r.at("a/loss"), 4, 1e-6);
  EXPECT_NEAR(r.at("b/loss"), 9, 1e-6);
  EXPECT_NEAR(r.at("loss"), 2 * 4 + 0.5 * 9, 1e-6);
}

TEST(Heads, LabelsOutOfRangeAreNamed) {
  Features batch{{"logits", column({0, 1, 2})}};
  auto error = [&](const Head& head, const Array& label) {
    batch.set("y", label);
    return error_of([&] { evaluated(head, batch); });
  };
  Head binary = binary_head({.label = "y"}), counts = poisson_head({.label = "y"});
  EXPECT_THAT(error(binary, Array::of({0.0f, 1.0f, 1.5f})),
              HasSubstr("binary_head: the label `y` at row 2 is 1.5, above 1; labels are 0 or 1"));
  EXPECT_THAT(error(binary, Array::of({0.0, -0.25, 1.0})), HasSubstr("row 1 is -0.25, below 0"));
  EXPECT_THAT(error(binary, Array::of({0.0f, NAN, 1.0f})), HasSubstr("`y` at row 1 is nan; "));
  EXPECT_THAT(error(counts, Array::of({7, 0, -1})),
              HasSubstr("poisson_head: the label `y` at row 2 is -1, below 0; labels are counts"));
  EXPECT_EQ(error(counts, Array::of({1e9f, 0.0f, 0.5f})), "no error");
  batch.set("logits", Array::zeros({2, 3}));
  EXPECT_THAT(error(multi_label_head({.classes = 3, .label = "y"}),
                    Array::of({0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 2.0f}, Shape{2, 3})),
              HasSubstr("multi_label_head: the label `y` at row 1, element 2 is 2, above 1; "));
  for (const Head& head : {binary, counts}) {
    Features unlabelled{{"logits", column({0, 1})}};
    EXPECT_EQ(error_of([&] { predicted(head, unlabelled); }), "no error");
  }
}

TEST(Heads, ErrorsSayWhat) {
  auto error = [](const Head& head, const Features& batch) {
    return error_of([&] { evaluated(head, batch); });
  };
  Features batch{{"logits", column({0, 1})}, {"label", Array::of({0, 2})}};
  EXPECT_THAT(error(binary_head(), batch),
              HasSubstr("binary_head: the label `label` at row 1 is 2, above 1; labels are 0 or 1, "
                        "or floating numbers between them (at label"));
  EXPECT_THAT(error(multi_class_head({.classes = 3}), batch),
              HasSubstr("head: the logits are f32[2, 1] but should be floating [n, ..., 3]"));
  EXPECT_THAT(error(binary_head({.label = "lable"}), batch),
              HasSubstr("unknown feature `lable`; this batch has logits, label"));
  batch.set("label", Array::of({0, 1, 1}));
  EXPECT_THAT(error(regression_head(), batch),
              HasSubstr("regression_head: feature `label` is i32[3] but the logits go with [2]"));
  EXPECT_THAT(error(poisson_head({.label = "logits", .weight = "label"}), batch),
              HasSubstr("poisson_head: the weights `label` are i32[3] but the losses are [2]"));
  EXPECT_THAT(error(multi_head({{"age", regression_head()}}), batch), HasSubstr("(in head age"));
  batch.set("logits", Array::of({0.0f, 1.0f, 2.0f, 3.0f}, Shape{2, 2}));
  batch.set("label", Array::of({0, 2}));
  EXPECT_THAT(error(multi_class_head({.classes = 2}), batch),
              HasSubstr("label 2 at row 1 is outside 0..1"));
  EXPECT_THAT(error(Head(), batch), HasSubstr("head: there is no head; make it with"));
  EXPECT_THAT(error_of([] { multi_class_head({.classes = 1}); }), HasSubstr("at least 2, got 1"));
  EXPECT_THAT(error_of([] { binary_head({.threshold = 7}); }),
              HasSubstr("binary_head: threshold is 7; it must lie in [0, 1]"));
  EXPECT_THAT(error_of([] { binary_head({.label_smoothing = -1}); }),
              HasSubstr("binary_head: label_smoothing is -1; it must lie in [0, 1]"));
  EXPECT_THAT(error_of([] { multi_class_head({.label_smoothing = 2}); }),
              HasSubstr("multi_class_head: label_smoothing is 2"));
  EXPECT_THAT(error_of([] { multi_label_head({.threshold = -1}); }),
              HasSubstr("multi_label_head: threshold is -1"));
  EXPECT_THAT(error_of([] { multi_label_head({.label_smoothing = 2}); }),
              HasSubstr("multi_label_head: label_smoothing is 2"));
  EXPECT_THAT(error_of([] { multi_head({}); }), HasSubstr("there are no heads"));
  EXPECT_THAT(error_of([] {
                binary_head({.thresholds = {0.5, 1.5}});
              }),
              HasSubstr("binary_head: thresholds is 1.5; it must lie in [0, 1]"));
  EXPECT_THAT(error_of([] {
                multi_label_head({.thresholds = {0.5, 0.5}});
              }),
              HasSubstr("multi_label_head: the threshold 0.5 is there twice"));
  EXPECT_THAT(error_of([] { poisson_head({.reduction = Reduction::none}); }),
              HasSubstr("poisson_head: a loss is one number; the reduction `none`"));
  batch.set("label", Array::of({0, 1}));
  EXPECT_THAT(error(multi_head({{"one", binary_head()},
                                {"two", binary_head({.reduction = Reduction::sum})}}),
                    batch),
              HasSubstr("multi_head: the losses of `one` and `two` cannot be added, as one is"));
  EXPECT_THAT(error_of([] {
                multi_head({{"a", binary_head()}, {"a", binary_head()}});
              }),
              HasSubstr("the name `a` is empty or there twice"));
  EXPECT_THAT(error_of([] {
                multi_head({{"a", binary_head(), -1}});
              }),
              HasSubstr("the weight of `a` is -1"));
}

}  // namespace
}  // namespace belfry::models
