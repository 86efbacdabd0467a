// Covers columns.cpp, linear.cpp, wide_deep.cpp and the heads of mlp.cpp.
#include <gmock/gmock.h>

#include <cmath>

#include "../../framework/base/error_of.h"
#include "../models_support.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/models/tables/linear.h"
#include "belfry/models/tables/mlp.h"
#include "belfry/models/tables/wide_deep.h"

namespace belfry::models {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

using Values = std::map<std::string, Array>;

// The elements of what `build` makes of these features, where variables have values too.
template <class Build>
std::vector<double> computed(const Features& features, Values values, Build build) {
  Graph graph;
  Batch batch(graph, signature_of(features));
  Tensor result = build(Scope(graph), batch);
  for (const auto& [name, array] : features) values.emplace(name, array);
  Array array = evaluate({result}, values)[0];
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}
std::vector<double> linear_of(const Columns& columns, const Features& features,
                              const Values& values) {
  return computed(features, values, [&](Scope s, const Batch& batch) {
    return linear_columns(s, batch, columns, 1);
  });
}

// first, 2 first, 3 first, ... as a table.
Array multiples(float first, std::int64_t count) {
  Array out(Shape{count, 1}, DType::f32);
  for (std::int64_t i = 0; i < count; ++i)
    out.span<float>()[static_cast<std::size_t>(i)] = first * static_cast<float>(i + 1);
  return out;
}

Columns people() {
  return {.numeric = {{.feature = "size", .mean = 1, .deviation = 2}},
          .categorical = {{.feature = "color", .categories = 3},
                          {.feature = "age", .boundaries = {18, 65}}},
          .crossed = {{.features = {"color", "age"}}}};
}
Features two_people() {
  return {{"size", Array::of({5, 0})},
          {"color", Array::of({2, 0})},
          {"age", Array::of({30.5f, 65.0f})}};
}

// Each digit of a sum says what one column adds.
TEST(LinearColumns, AddAWeightForEachColumn) {
  Values values{{"bias", Array::of({0.25f})},
                {"numeric/kernel", multiples(0.5f, 1)},
                {"color/table", multiples(10, 3)},
                {"age/table", multiples(100, 3)},
                {"color_x_age/table", multiples(1000, 9)}};
  EXPECT_THAT(linear_of(people(), two_people(), values),
              ElementsAre(0.25 + 1 + 30 + 200 + 8000, 0.25 - 0.25 + 10 + 300 + 3000));
}

TEST(LinearColumns, SeveralAnswersAddUp) {
  Columns columns{.numeric = {{.feature = "x"}},
                  .categorical = {{.feature = "color", .categories = 3}}};
  Features features{{"x", Array::of({1.0f, 2.0f, 3.0f, 4.0f}, Shape{2, 2})},
                    {"color", Array::of({0, 2, 1, 1}, Shape{2, 2})}};
  Values values{{"bias", Array::of({0.0f})},
                {"numeric/kernel", multiples(1, 2)},
                {"color/table", multiples(100, 3)}};
  EXPECT_THAT(linear_of(columns, features, values), ElementsAre(1 + 4 + 400, 3 + 8 + 400));
}

// Worked out in Python: (1103515245 * x + 12345) % (2**31 - 1) % 100.
TEST(LinearColumns, HashesSpreadAnyWholeNumber) {
  Columns columns{.categorical = {{.feature = "id", .categories = 100, .hashed = true}}};
  Features features{
      {"id", Array::of<std::int64_t>({0, 5, -1, 4'000'000'000, -9'000'000'000'000'000'000,
                                      9'223'372'036'854'775'807})}};
  Values values{{"bias", Array::of({0.0f})}, {"id/table", multiples(1, 100)}};
  std::vector<double> expected{45, 76, 47, 52, 67, 90};
  for (double& x : expected) x += 1;
  EXPECT_THAT(linear_of(columns, features, values), ElementsAreArray(expected));
}

TEST(LinearColumns, CrossesMayBeHashed) {
  Columns columns{
      .categorical = {{.feature = "a", .categories = 3}, {.feature = "b", .categories = 3}},
      .crossed = {{.features = {"a", "b"}, .buckets = 4}}};
  Features features{{"a", Array::of({0, 0, 0, 1, 1, 1, 2, 2, 2})},
                    {"b", Array::of({0, 1, 2, 0, 1, 2, 0, 1, 2})}};
  Values values{{"bias", Array::of({0.0f})},
                {"a/table", multiples(0, 3)},
                {"b/table", multiples(0, 3)},
                {"a_x_b/table", multiples(1, 4)}};
  std::vector<double> expected{1, 2, 0, 1, 3, 0, 2, 3, 1};
  for (double& x : expected) x += 1;
  EXPECT_THAT(linear_of(columns, features, values), ElementsAreArray(expected));
}

TEST(DeepColumns, StandSideBySide) {
  Columns columns{.numeric = {{.feature = "size"}},
                  .categorical = {{.feature = "color", .categories = 3, .width = 2}},
                  .crossed = {}};
  Values values{{"color/table", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, Shape{3, 2})}};
  auto deep = [&](Scope s, const Batch& batch) { return deep_columns(s, batch, columns); };
  EXPECT_THAT(computed(two_people(), values, deep), ElementsAre(5, 5, 6, 0, 1, 2));
}

TEST(Columns, ErrorsSayWhat) {
  auto error = [](const Columns& columns, const Features& features = two_people()) {
    return error_of([&] { linear_of(columns, features, {}); });
  };
  EXPECT_THAT(error({}), HasSubstr("columns: there are none"));
  Features words{{"size", Array::zeros({2, 7}, DType::u8)}};
  auto text = HasSubstr(
      "feature `size` is u8[2, 7], as text is; give its CsvColumn a vocabulary or "
      "buckets, or cast it if it is numbers");
  EXPECT_THAT(error({.numeric = {{.feature = "size"}}}, words), text);
  EXPECT_THAT(error({.categorical = {{.feature = "size", .categories = 256}}}, words), text);
  words.set("size", Array::zeros({2}, DType::u8));
  EXPECT_EQ(error({.numeric = {{.feature = "size"}}}, words), "no error");
  EXPECT_THAT(error({.numeric = {{.feature = "size", .deviation = 0}}}),
              HasSubstr("the deviation of `size` is 0"));
  EXPECT_THAT(error({.numeric = {{.feature = "size"}, {.feature = "size"}}}),
              HasSubstr("`size` is a numeric column twice"));
  EXPECT_THAT(error({.categorical = {{.feature = "color"}}}),
              HasSubstr("`color` has 0 categories and 0 boundaries"));
  EXPECT_THAT(error({.categorical = {{.feature = "age", .boundaries = {2, 2}}}}),
              HasSubstr("the boundaries of `age` do not rise"));
  EXPECT_THAT(error({.categorical = {{.feature = "age", .categories = 3}}}),
              HasSubstr("feature `age` is f32[2, 1] but categories are whole numbers"));
  EXPECT_THAT(error({.categorical = {{.feature = "color", .categories = 3}},
                     .crossed = {{.features = {"color", "age"}}}}),
              HasSubstr("`color_x_age` crosses `age`, which is no categorical column"));
  EXPECT_THAT(error({.categorical = {{.feature = "age", .hashed = true, .boundaries = {18, 65}}}}),
              HasSubstr("`age` is hashed and has boundaries; give it one of the two"));
  Columns crosses = people();
  crosses.crossed.push_back(crosses.crossed[0]);
  EXPECT_THAT(error(crosses), HasSubstr("the crossed column `color_x_age` is there twice"));
  crosses = people();
  crosses.categorical.push_back({.feature = "color_x_age", .categories = 2});
  EXPECT_THAT(error(crosses), HasSubstr("or a categorical column has its name"));
  EXPECT_THAT(error({.numeric = {{.feature = "height"}}}),
              HasSubstr("unknown feature `height`; this batch has size, color, age"));
  EXPECT_THAT(error({.categorical = {{.feature = "color", .categories = 2}}}),
              HasSubstr("index 2 at position 0 is outside 0..1 (at color"));
}

// Which of two answers differ: a linear model needs their cross, a deep one does not.
Features exclusive_or() {
  return {{"a", Array::of({0, 0, 1, 1})},
          {"b", Array::of({0, 1, 0, 1})},
          {"label", Array::of({0, 1, 1, 0})}};
}
Columns a_and_b() {
  return {.categorical = {{.feature = "a", .categories = 2}, {.feature = "b", .categories = 2}}};
}
Columns a_times_b() {
  Columns out = a_and_b();
  out.crossed = {{.features = {"a", "b"}}};
  return out;
}
double loss_after(std::int64_t steps, const ModelFn& model) {
  Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch(exclusive_or(), true), {.steps = steps});
  return estimator.evaluate(one_batch(exclusive_or())).at("loss");
}

TEST(Linear, LearnsWhatIsNotSeparableFromCrosses) {
  EXPECT_NEAR(loss_after(100, linear({.columns = a_and_b()})), std::log(2.0), 1e-3);
  EXPECT_LT(loss_after(100, linear({.columns = a_times_b()})), 0.3);
}

TEST(Dnn, LearnsItFromVectors) {
  EXPECT_LT(loss_after(100, dnn({.columns = a_and_b(), .hidden = {16}})), 0.1);
}

TEST(WideDeep, EachPartHasItsOptimizer) {
  WideDeepOptions o{.wide = a_times_b(), .deep = a_and_b(), .hidden = {8}};
  Estimator estimator({.model_fn = wide_deep(o), .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch(exclusive_or(), true), {.steps = 1});
  EXPECT_THAT(estimator.variable_names(),
              ::testing::IsSupersetOf({"wide/bias/ftrl/linear", "wide/a_x_b/table/ftrl/accumulator",
                                       "deep/columns/a/table/adagrad/accumulator",
                                       "deep/hidden1/kernel/adagrad/accumulator",
                                       "deep/logits/bias/adagrad/accumulator"}));
  EXPECT_THAT(estimator.variable_names(), Not(Contains(HasSubstr("wide/bias/adagrad"))));
  EXPECT_THAT(estimator.variable_names(), Not(Contains("deep/logits/bias/ftrl/linear")));
  estimator.train(one_batch(exclusive_or(), true), {.steps = 300});
  EvalResult result = estimator.evaluate(one_batch(exclusive_or()));
  EXPECT_EQ(result.at("accuracy"), 1);
  EXPECT_LT(result.at("loss"), 0.1);
}

// One step of sgd() on the wide part shows its gradient, here worked out from the deep logits.
TEST(WideDeep, BothPartsSeeTheSameLoss) {
  Features batch{{"a", Array::of({0, 1})}, {"label", Array::of({1, 1})}};
  Columns a{.categorical = {{.feature = "a", .categories = 2}}};
  WideDeepOptions o{.wide = a, .deep = a, .hidden = {}};
  o.wide_optimizer = sgd({.learning_rate = 1});
  o.deep_optimizer = sgd({.learning_rate = 0});
  Estimator estimator({.model_fn = wide_deep(o), .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch(batch, true), {.steps = 1});
  Array kernel = estimator.variable_value("deep/logits/kernel");
  Array table = estimator.variable_value("deep/columns/a/table");
  double bias = 0;
  for (std::int64_t row : {0, 1}) {
    double logit = 0;
    for (std::int64_t i = 0; i < 8; ++i) logit += table.at(row * 8 + i) * kernel.at(i);
    double step = (1 - 1 / (1 + std::exp(-logit))) / 2;  // minus the gradient
    EXPECT_NEAR(estimator.variable_value("wide/a/table").at(row), step, 1e-6);
    bias += step;
  }
  EXPECT_NEAR(estimator.variable_value("wide/bias").item(), bias, 1e-6);
}

// Four rows on two towers have a gradient of logistic loss at 0 each: 1/2 - label.
TEST(WideDeep, ASumIsOneOverAllTowers) {
  WideDeepOptions o{.wide = a_and_b(), .deep = a_and_b(), .hidden = {}};
  o.head = binary_head({.reduction = Reduction::sum});
  o.wide_optimizer = sgd({.learning_rate = 1});
  o.deep_optimizer = sgd({.learning_rate = 0});
  Features batch = exclusive_or();
  batch.set("label", Array::of({1, 1, 1, 0}));
  auto bias_on = [&](std::vector<std::string> devices) {
    RunConfig run = quiet();
    run.devices = std::move(devices);
    Estimator estimator({.model_fn = wide_deep(o), .model_dir = new_folder(), .run = run});
    estimator.train(one_batch(batch, true), {.steps = 1});
    return estimator.variable_value("wide/bias").item();
  };
  double one = bias_on({"cpu:0"});
  EXPECT_GT(one, 0.5);  // the mean's would be at most 1/2
  EXPECT_NEAR(bias_on({"cpu:0", "cpu:1"}), one, 1e-6);
}

TEST(Mlp, RefusesAShareToDropThatIsNone) {
  for (float share : {-0.5f, 1.0f})
    EXPECT_THAT(error_of([&] { mlp({.hidden = {4}, .dropout = share}); }),
                HasSubstr(concat("mlp: dropout is ", share, "; it must lie in [0, 1)")))
        << share;
}

TEST(Mlp, TakesAnyHead) {
  Features batch{{"x", Array::of({0.0f, 1.0f, 2.0f, 3.0f}, Shape{4, 1})},
                 {"y", Array::of({1.0f, 3.0f, 5.0f, 7.0f})}};
  ModelFn model = mlp({.feature = "x",
                       .hidden = {16},
                       .optimizer = adam({.learning_rate = 0.02}),
                       .head = regression_head({.label = "y"})});
  Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch(batch, true), {.steps = 300});
  EXPECT_LT(estimator.evaluate(one_batch(batch)).at("loss"), 0.05);
}

}  // namespace
}  // namespace belfry::models
