#include "belfry/models/make.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../framework/base/error_of.h"
#include "every_model.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(MakeModel, FieldsComeFromJson) {
  InputFn images = random_images({2, 32, 32, 3}, 10);
  EXPECT_EQ(parameter_count(make("resnet18"), images), 11'173'962);
  EXPECT_EQ(parameter_count(make("resnet18", R"({"classes": 20})"), images), 11'173'962 + 5'130);
  EXPECT_EQ(parameter_count(make("resnet18", R"({"classes": 1000, "stem": "large"})"), images),
            11'689'512);
  EXPECT_EQ(parameter_count(make("mlp", R"({"hidden": [7], "classes": 3})"), images),
            (3072 + 1) * 7 + 8 * 3);
}

TEST(MakeModel, OptimizersHaveNames) {
  ModelFn model =
      make("mlp", R"({"optimizer": {"name": "momentum", "learning_rate": 0.5, "nesterov": true}})");
  Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
  estimator.train(random_images({2, 4, 4, 1}, 10), {.steps = 1});
  EXPECT_THAT(estimator.variable_names(), Contains("head/kernel/momentum/accumulator"));
  EXPECT_TRUE(make("lenet", R"({"optimizer": {"name": "lamb", "decay_min_rank": 1}})"));
}

// The rate of a schedule at a step shows in what sgd() changes: the loss is the bias itself.
TEST(MakeModel, SchedulesHaveNames) {
  auto rates = [](const std::string& schedule) {
    ModelFn model = make("baseline", R"({"head": {"name": "poisson", "label": "y"}, "optimizer":
        {"name": "sgd", "learning_rate": )"
                                         + schedule + "}}");
    InputFn ones = one_batch({{"y", Array::of({0.0f})}}, true);
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
    std::vector<double> out;
    for (double before = 0; out.size() < 4;) {
      estimator.train(ones, {.steps = 1});
      double after = estimator.variable_value("baseline/bias").at(0);
      out.push_back((before - after) / std::exp(before));  // by the gradient
      before = after;
    }
    return out;
  };
  auto near = [](std::vector<double> expected) {
    return ::testing::Pointwise(::testing::DoubleNear(1e-6), std::move(expected));
  };
  EXPECT_THAT(rates("0.25"), near({0.25, 0.25, 0.25, 0.25}));
  EXPECT_THAT(rates(R"({"name": "exponential_decay", "initial": 0.4, "decay_steps": 2,
                        "decay_rate": 0.25, "staircase": true})"),
              near({0.4, 0.4, 0.1, 0.1}));
  EXPECT_THAT(rates(R"({"name": "piecewise_constant", "boundaries": [0, 2],
                        "values": [0.5, 0.25, 0.125]})"),
              near({0.5, 0.25, 0.25, 0.125}));
  EXPECT_THAT(rates(R"({"name": "polynomial_decay", "initial": 0.4, "decay_steps": 2, "end": 0.1,
                        "power": 2})"),
              near({0.4, 0.3 / 4 + 0.1, 0.1, 0.1}));
  EXPECT_THAT(rates(R"({"name": "cosine_decay", "initial": 0.4, "decay_steps": 2, "alpha": 0.5})"),
              near({0.4, 0.3, 0.2, 0.2}));
  EXPECT_THAT(rates(R"({"name": "warmup", "steps": 2, "from": 0.1, "after":
                        {"name": "cosine_decay", "initial": 0.3, "decay_steps": 2}})"),
              near({0.1, 0.2, 0.3, 0.15}));
  EXPECT_THAT(rates(R"({"name": "warmup", "steps": 2, "after": 0.5})"), near({0, 0.25, 0.5, 0.5}));
}

TEST(MakeModel, SchedulesThatAreNoneAreRefused) {
  auto error = [](const std::string& schedule) {
    return error_of([&] {
      make("lenet", R"({"optimizer": {"name": "sgd", "learning_rate": )" + schedule + "}}");
    });
  };
  EXPECT_THAT(error(R"({"name": "cosine"})"),
              HasSubstr("lenet: sgd: `learning_rate` must be an object with the name of a schedule "
                        "(cosine_decay, exponential_decay, one_cycle, piecewise_constant, "
                        "polynomial_decay, range_test, warmup), got"));
  EXPECT_THAT(error(R"({"name": "cosine_decay", "initial": 1, "steps": 3})"),
              HasSubstr("lenet: sgd: cosine_decay: there is no field `steps`; there are initial, "
                        "decay_steps, alpha"));
  EXPECT_THAT(error(R"({"name": "cosine_decay", "initial": 1})"), HasSubstr("decay_steps"));
  EXPECT_THAT(error(R"({"name": "warmup", "steps": 3, "after": "0.1"})"),
              HasSubstr("lenet: sgd: warmup: `after` must be a number, got \"0.1\""));
}

TEST(MakeModel, HeadsHaveReductionsAndThresholds) {
  ModelFn model = make("baseline", R"({"head": {"name": "binary", "label": "y", "thresholds": [0.3],
                                       "reduction": "sum"}})");
  Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
  EvalResult result = estimator.evaluate(one_batch({{"y", Array::of({0, 1, 1})}}));
  EXPECT_NEAR(result.at("loss"), 3 * std::log(2.0), 1e-6);
  EXPECT_EQ(result.at("recall/positive_threshold_0.3"), 1);
  EXPECT_THAT(
      error_of([] { make("baseline", R"({"head": {"name": "binary", "reduction": "all"}})"); }),
      HasSubstr("baseline: binary: `reduction` must be one of none, sum, mean, weighted_mean, "
                "mean_by_nonzero_weights, got \"all\""));
  EXPECT_THAT(
      error_of([] { make("baseline", R"({"head": {"name": "binary", "reduction": "none"}})"); }),
      HasSubstr("binary_head: a loss is one number; the reduction `none`"));
}

TEST(MakeModel, MasksHaveSeveralClasses) {
  ModelFn model = make("unet", R"({"depth": 1, "filters": 2, "classes": 3, "exclusive": true,
                                   "positive_weight": [1, 2, 3], "sync_batch_norm": true})");
  Graph graph;
  Batch batch(graph, {{"image", {{2, 4, 4, 1}, DType::f32}}});
  EstimatorSpec spec = model(Scope(graph), batch, Mode::predict);
  EXPECT_EQ(spec.predictions[0].second.shape(), (Shape{2, 4, 4, 3}));
}

TEST(MakeModel, ColumnsAndHeadsAreObjects) {
  ModelFn model = make("wide_deep", R"({
      "wide": {"categorical": [{"feature": "a", "categories": 3},
                               {"feature": "x", "boundaries": [0.5]}],
               "crossed": [{"features": ["a", "x"], "buckets": 5}]},
      "deep": {"numeric": [{"feature": "x", "mean": 1, "deviation": 2}],
               "categorical": [{"feature": "a", "categories": 9, "hashed": true, "width": 4}]},
      "hidden": [6], "wide_optimizer": {"name": "ftrl", "l1": 0.1},
      "deep_optimizer": {"name": "adagrad"},
      "head": {"name": "multi", "heads": [
          {"name": "one", "head": {"name": "binary", "label": "y"}, "weight": 2},
          {"name": "two", "head": {"name": "multi_class", "classes": 3, "label": "a"}}]}})");
  InputFn rows = one_batch(
      {{"a", Array::of({0, 2})}, {"x", Array::of({0.0f, 1.0f})}, {"y", Array::of({0, 1})}});
  // Wide: 4 * (1 + 3 + 2 + 5). Deep: 9 * 4, (1 + 4 + 1) * 6, (6 + 1) * 4.
  EXPECT_EQ(parameter_count(model, rows), 44 + 36 + 36 + 28);
  ModelFn counts = make("linear", R"({"columns": {"numeric": [{"feature": "x"}]},
                                      "head": {"name": "poisson", "label": "y"}})");
  Estimator estimator({.model_fn = counts, .model_dir = new_folder(), .run = quiet()});
  EXPECT_NEAR(estimator.evaluate(rows).at("prediction/mean"), 1, 1e-9);
}

// As tests/models/gan/dcgan_test.cpp counts them, with 4 and 8 filters; layer norm has as many
// numbers as batch norm.
TEST(MakeModel, GansHaveTheirNetworksFields) {
  InputFn images = random_images({2, 16, 16, 1}, 10);
  std::int64_t plain = 3 * 16 * 8 + 16 * (8 * 4 + 4) + 2 * (8 + 4)  // generator
                       + 16 * (4 + 4 * 8) + 2 * 8 + 16 * 8;
  for (const char* name : {"dcgan", "wgan_gp"})
    EXPECT_EQ(parameter_count(make(name, R"({"size": 16, "filters": 4, "noise": 3})"), images),
              plain);
  EXPECT_EQ(parameter_count(make("cgan", R"({"size": 16, "filters": 4, "noise": 3})"), images),
            plain + 10 * 16 * 8 + 10 * 16 * 4);
  EXPECT_THAT(error_of([] { make("cgan", R"({"classes": 0})"); }),
              HasSubstr("conditional_gan: set DcganOptions::classes"));
  EXPECT_THAT(error_of([] { make("wgan_gp", R"({"loss": 1})"); }),
              HasSubstr("layer_norm, sync_batch_norm, generator_optimizer, discriminator_"));
  EXPECT_THAT(error_of([] { make("cyclegan", R"({"pool_size": 0})"); }),
              HasSubstr("size must be at least 1"));
}

TEST(MakeModel, EveryNameMakesAModel) {
  const std::string columns = R"({"numeric": [{"feature": "x"}]})";
  for (const std::string& name : names()) {
    std::string options = name == "linear" || name == "dnn" ? R"({"columns": )" + columns + "}"
                          : name == "wide_deep"
                              ? R"({"wide": )" + columns + R"(, "deep": )" + columns + "}"
                              : "{}";
    EXPECT_TRUE(make(name, options)) << name;
  }
  EXPECT_THAT(names(), Contains("resnet50"));
}

TEST(MakeModel, EveryNameIsAmongEveryModel) {
  std::set<std::string> tested;
  for (const SmallModel& model : every_model()) tested.insert(model.name);
  for (const std::string& name : names()) EXPECT_TRUE(tested.contains(name)) << name;
}

TEST(MakeModel, GansHaveTheFieldsOfTheirNetworks) {
  InputFn images = random_images({2, 8, 8, 1}, 4);
  const char* small = R"({"size": 8, "filters": 2, "noise": 3, "classes": 4, "generator_weight": 0,
                          "generator_optimizer": {"name": "sgd", "learning_rate": 0.1}})";
  // Noise and label 7 x 4 x 4 x 2, norm 2 x 2, up 16 x 2; down 16 x 2, logits 4 x 4 x 2 x 5.
  EXPECT_EQ(parameter_count(make("acgan", small), images), 224 + 4 + 32 + 32 + 160);
  const char* coded = R"({"size": 8, "filters": 2, "noise": 3, "categories": 3, "continuous": 1})";
  EXPECT_EQ(parameter_count(make("infogan", coded), images), 224 + 4 + 32 + 32 + 160);
  EXPECT_THAT(error_of([] { make("acgan", R"({"generator_weight": -1})"); }),
              HasSubstr("at least 0, got -1"));
}

TEST(MakeModel, ValuesOfAnotherTypeAreRefused) {
  struct Case {
    const char *model, *options, *error;
  };
  for (const Case& c : std::vector<Case>{
           {"mlp", R"({"hidden": [64.7]})", "mlp: `hidden[0]` must be a whole number, got 64.7"},
           {"mlp", R"({"hidden": [true]})", "mlp: `hidden[0]` must be a whole number, got true"},
           {"mlp", R"({"hidden": 64})", "mlp: `hidden` must be a list, got 64"},
           {"mlp", R"({"dropout": true})", "mlp: `dropout` must be a number, got true"},
           {"mlp", R"({"dropout": "half"})", "mlp: `dropout` must be a number, got \"half\""},
           {"mlp", R"({"feature": 1})", "mlp: `feature` must be a string, got 1"},
           {"mlp", R"({"classes": 1e1})", "mlp: `classes` must be a whole number, got 10.0"},
           {"mlp", R"({"classes": 9223372036854775808})",
            "`classes` must be from -2^48 to 2^48 (a fraction has a point), got "
            "9223372036854775808"},
           {"unet", R"({"depth": 4294967298})",
            "unet: `depth` must be in -2147483648..2147483647, got 4294967298"},
           {"unet", R"({"depth": -4294967294})",
            "`depth` must be in -2147483648..2147483647, got -4294967294"},
           {"unet", R"({"batch_norm": null})",
            "unet: `batch_norm` must be true or false, got null"},
           {"lenet", R"({"optimizer": {"name": "sgd", "learning_rate": false}})",
            "lenet: sgd: `learning_rate` must be a number, got false"},
           {"linear", R"({"columns": {"categorical": [{"feature": "x", "boundaries": [1, "2"]}]}})",
            "`columns.categorical[0].boundaries[1]` must be a number, got \"2\""}})
    EXPECT_THAT(error_of([&] { make(c.model, c.options); }), HasSubstr(c.error)) << c.options;
}

TEST(MakeModel, WhatIsUnknownIsRefused) {
  EXPECT_THAT(error_of([] { make("resnet51"); }),
              AllOf(HasSubstr("there is no `resnet51`; there are "), HasSubstr(", resnet50, ")));
  EXPECT_THAT(
      error_of([] { make("lenet", R"({"clases": 3})"); }),
      HasSubstr(
          "lenet: there is no field `clases`; there are classes, hidden, dropout, optimizer"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"classes": "ten"})"); }),
              HasSubstr("lenet: `classes` must be a whole number, got \"ten\""));
  EXPECT_THAT(error_of([] { make("lenet", R"({"classes": 2.5})"); }),
              HasSubstr("must be a whole number, got 2.5"));
  EXPECT_THAT(error_of([] { make("unet", R"({"batch_norm": 1})"); }),
              HasSubstr("`batch_norm` must be true or false, got 1"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"optimizer": {"name": "magic"}})"); }),
              HasSubstr("the name of an optimizer (adagrad, adam, adamw, ftrl, lamb, "
                        "momentum, rmsprop, sgd)"));
  EXPECT_THAT(error_of([] { make("linear", R"({"head": {"name": "tail"}})"); }),
              HasSubstr("linear: `head` must be an object with the name of a head (binary, multi, "
                        "multi_class, multi_label, poisson, regression), got {\"name\":\"tail\"}"));
  EXPECT_THAT(error_of([] { make("linear", R"({"columns": {"numeric": [{"name": "x"}]}})"); }),
              HasSubstr("linear: there is no field `columns.numeric[0].name`; there are feature"));
  EXPECT_THAT(error_of([] { make("linear", R"({"columns": {"numeric": {}}})"); }),
              HasSubstr("linear: `columns.numeric` must be a list, got {}"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"optimizer": {"name": "sgd", "beta1": 1}})"); }),
              HasSubstr("lenet: sgd: there is no field `beta1`"));
  EXPECT_THAT(error_of([] { make("resnet18", R"({"stem": "tiny"})"); }),
              HasSubstr("`stem` must be one of by_size, small, large, got \"tiny\""));
  EXPECT_THAT(error_of([] { make("lenet", "{"); }),
              HasSubstr("models: the options of lenet: not JSON: line 1, column 2: syntax error"));
  EXPECT_THAT(error_of([] { make("mlp", "{\n  \"hidden\": [7],\n  \"classes\" 3\n}"); }),
              HasSubstr("models: the options of mlp: not JSON: line 3, column 13: syntax error"));
  EXPECT_THAT(error_of([] { make("mlp", R"({"dropout": 1e999})"); }),
              HasSubstr("models: the options of mlp: not JSON: "));
  EXPECT_THAT(error_of([] { make("vgg16", R"({"dropout": 2})"); }),
              HasSubstr("vgg: dropout is 2; it must lie in [0, 1)"));
  EXPECT_THAT(error_of([] { make("mlp", R"({"hidden": [7, 9223372036854775807]})"); }),
              HasSubstr("mlp: `hidden[1]` must be from -2^48 to 2^48 (a fraction has a point), got "
                        "9223372036854775807"));
  EXPECT_THAT(error_of([] { make("lenet", "[]"); }),
              HasSubstr("lenet must be a JSON object, got []"));
}

}  // namespace
}  // namespace belfry::models
