// Covers acgan.cpp, infogan.cpp and what they share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "../../framework/base/error_of.h"
#include "../models_support.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/random/random.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/models/gan/acgan.h"
#include "belfry/models/gan/conditioning.h"
#include "belfry/models/gan/infogan.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// The cross-entropy of logits with a label.
double error_of_class(std::vector<double> logits, std::size_t label) {
  double sum = 0;
  for (double x : logits) sum += std::exp(x);
  return std::log(sum) - logits[label];
}

struct Values {
  double generator, discriminator;
};

// Two rows with these logits, three each.
struct Logits {
  Graph graph;
  GanModel model{
      .real = constant(graph, Array::zeros({2, 1})),
      .generated = constant(graph, Array::zeros({2, 1})),
      .real_logits = constant(graph, Array::of({0.5f, 1.f, -1.f, -2.f, 0.f, 3.f}, {2, 3})),
      .generated_logits = constant(graph, Array::of({-1.f, 2.f, 0.f, 0.25f, 0.5f, -0.5f}, {2, 3})),
      .discriminator =
          [](Tensor x) {
            return concat({x * 3, x * 5, x * 7}, 1);
          },
      .scope = Scope(graph)};

  Tensor labels(std::initializer_list<std::int64_t> of) { return constant(graph, Array::of(of)); }
  Values operator()(const Loss& loss) {
    auto found = evaluate({loss.generator(model), loss.discriminator(model)});
    return {found[0].item(), found[1].item()};
  }
};

TEST(Acgan, AddsTheErrorsOfClasses) {
  Logits logits;
  Tensor labels = logits.labels({0, 1});
  double real = (error_of_class({1, -1}, 0) + error_of_class({0, 3}, 1)) / 2;
  double generated = (error_of_class({2, 0}, 0) + error_of_class({0.5, -0.5}, 1)) / 2;
  Values found = logits(with_classification(
      hinge(), labels, {.classes = 2, .generator_weight = 0.5, .discriminator_weight = 3}));
  EXPECT_NEAR(found.generator, -(-1 + 0.25) / 2 + 0.5 * generated, 1e-6);
  EXPECT_NEAR(found.discriminator, (0.5 + 3) / 2 + (0 + 1.25) / 2 + 3 * (real + generated), 1e-6);
}

// Its discriminator's first logit has the gradient 3, so the penalty is (3 - 1)^2.
TEST(Acgan, GradientPenaltiesAreOfTheFirstLogit) {
  Logits logits;
  ClassificationOptions no_classes{.classes = 2, .discriminator_weight = 0};
  Loss loss = with_gradient_penalty(wasserstein(), {.weight = 1});
  Values found = logits(with_classification(loss, logits.labels({0, 1}), no_classes));
  EXPECT_NEAR(found.discriminator, (-1 + 0.25) / 2 - (0.5 - 2) / 2 + 4, 1e-5);
}

TEST(Acgan, WhatDoesNotFitIsRefused) {
  Logits logits;
  EXPECT_THAT(error_of([&] {
                logits(with_classification(hinge(), logits.labels({0, 1})));
              }),
              HasSubstr("acgan: the discriminator must give logits [n, 11], got f32[2, 3]"));
  EXPECT_THAT(error_of([&] {
                logits(with_classification(hinge(), logits.labels({0, 2}), {.classes = 2}));
              }),
              HasSubstr("label 2 at row 1 is outside 0..1"));
  EXPECT_THAT(error_of([] { with_classification({}, {}); }),
              HasSubstr("with_further_logits: the loss is not set"));
  EXPECT_THAT(error_of([] { acgan({.networks = {.classes = 0}}); }), HasSubstr("classes"));
  EXPECT_THAT(error_of([] { acgan({.generator_weight = -1}); }), HasSubstr("at least 0, got -1"));
}

// Points [n, 2] of noise and label, and a discriminator that tells three classes.
AcganOptions of_classes() {
  AcganOptions o{.networks = {.classes = 3}};
  o.gan.generator = [](Scope s, const Batch& batch, Mode) {
    Tensor z = random_normal(s / "noise", {batch.rows(), 2});
    Tensor h = relu(dense(s / "hidden", concat_one_hot(z, batch["label"], 3), {.units = 16}));
    return dense(s / "out", h, {.units = 2});
  };
  o.gan.discriminator = [](Scope s, Tensor x, const Batch&, Mode) {
    return dense(s / "logits", leaky_relu(dense(s / "hidden", x, {.units = 16})), {.units = 4});
  };
  o.gan.generator_optimizer = o.gan.discriminator_optimizer = adam({.learning_rate = 5e-3});
  return o;
}

// 30 points about the corners of a triangle, each corner a class.
InputFn corners() {
  Features points;
  models::random_images({30, 2}, 3)()->next(points);
  Array image = points.at("image").clone();
  for (std::size_t i = 0; i < 60; ++i)
    image.span<float>()[i] += std::array{-3.0f, -3.0f, 3.0f, -3.0f, 0.0f, 3.0f}[i % 6];
  points.set("image", image);
  return models::one_batch(points, true);
}

TEST(Acgan, BothNetworksLearnTheClasses) {
  Estimator estimator(
      {.model_fn = acgan(of_classes()), .model_dir = new_folder(), .run = models::quiet()});
  estimator.train(corners(), {.steps = 1});
  EvalResult before = estimator.evaluate(corners(), {.steps = 10});
  estimator.train(corners(), {.steps = 400});
  EvalResult found = estimator.evaluate(corners(), {.steps = 10});
  for (const char* name : {"real_accuracy", "generated_accuracy"}) {
    EXPECT_LT(before.at(name), 0.8) << name;
    EXPECT_GT(found.at(name), 0.95) << name;
  }
}

TEST(Acgan, DcgansNetworksHaveALogitMoreThanClasses) {
  DcganOptions networks{.size = 8, .filters = 4, .noise = 3, .classes = 3};
  Estimator estimator({.model_fn = acgan({.networks = networks}),
                       .model_dir = new_folder(),
                       .run = models::quiet()});
  InputFn images = models::random_images({4, 8, 8, 1}, 3);
  EXPECT_EQ(estimator.train(images, {.steps = 2}).global_step, 2);
  EXPECT_EQ(estimator.variable_value("discriminator/logit/kernel").shape()[1], 4);
}

// ---- InfoGAN

// Logits of two categories, and the mean of a number.
TEST(Infogan, PenaltyIsOfCategoriesAndNumbers) {
  Graph graph;
  Tensor recognised = constant(graph, Array::of({1.f, -1.f, 0.5f, 0.f, 3.f, -2.f}, {2, 3}));
  Code code{.category = constant(graph, Array::of<std::int64_t>({1, 1})),
            .continuous = constant(graph, Array::of({-0.5f, 0.25f}, {2, 1}))};
  double of_category = (error_of_class({1, -1}, 1) + error_of_class({0, 3}, 1)) / 2;
  double of_number = (1 * 1 + 2.25 * 2.25) / 2 / 2 + 0.5 * std::log(2 * std::numbers::pi);
  Tensor found = mutual_information_penalty(
      recognised, code,
      {.categories = 2, .continuous = 1, .category_weight = 2, .continuous_weight = 0.25});
  EXPECT_NEAR(evaluate({found})[0].item(), 2 * of_category + 0.25 * of_number, 1e-6);
}

TEST(Infogan, PenaltyIsInBothLosses) {
  Logits logits;
  CodeOptions categories{.categories = 2, .continuous = 0};
  double penalty = (error_of_class({2, 0}, 1) + error_of_class({0.5, -0.5}, 0)) / 2;
  Values found = logits(with_mutual_information(minimax({.label_smoothing = 0}),
                                                {.category = logits.labels({1, 0})}, categories));
  EXPECT_NEAR(found.generator, -(softplus_of(-1) + softplus_of(0.25)) / 2 + penalty, 1e-6);
  double judged = (softplus_of(-0.5) + softplus_of(2) + softplus_of(-1) + softplus_of(0.25)) / 2;
  EXPECT_NEAR(found.discriminator, judged + penalty, 1e-6);
}

TEST(Infogan, CodesAreUniform) {
  Graph graph;
  CodeOptions options{.categories = 4, .continuous = 3};
  Code code = random_code(Scope(graph) / "code", 4000, options);
  auto found = evaluate({code.category, code.continuous, code_numbers(code, options)});
  std::array<int, 4> counts{};
  for (std::int64_t c : found[0].span<std::int64_t>()) ++counts.at(static_cast<std::size_t>(c));
  for (int count : counts) EXPECT_NEAR(count, 1000, 120);  // 4 deviations of 27
  double sum = 0, squares = 0;
  for (float v : found[1].span<float>()) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 12'000, 0, 0.02);
  EXPECT_NEAR(squares / 12'000, 1.0 / 3, 0.01);
  for (std::int64_t row : {0, 17}) {
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(found[2].at(row * 7 + i), i == found[0].at(row) ? 1 : 0);
    EXPECT_EQ(found[2].at(row * 7 + 5), found[1].at(row * 3 + 1));
  }
}

// Points [n, 2] of noise and code, and a discriminator that recognises three categories.
InfoganOptions of_points() {
  InfoganOptions o{.code = {.categories = 3, .continuous = 1, .continuous_weight = 1}};
  o.generator = [](Scope s, Tensor code, const Batch&, Mode) {
    Tensor z = random_normal(s / "noise", {code.size(0), 2});
    Tensor h = relu(dense(s / "hidden", concat({z, code}, 1), {.units = 16}));
    return dense(s / "out", h, {.units = 2});
  };
  o.gan.discriminator = [](Scope s, Tensor x, const Batch&, Mode) {
    return dense(s / "logits", leaky_relu(dense(s / "hidden", x, {.units = 16})), {.units = 5});
  };
  o.gan.real = "image";
  o.gan.generator_optimizer = o.gan.discriminator_optimizer = adam({.learning_rate = 5e-3});
  return o;
}

// Appendix C.1 of the paper.
TEST(Infogan, TheGeneratorsRateIsFiveTimesTheDiscriminators) {
  Graph graph;
  Tensor step = constant(graph, 0, DType::i64);
  GanOptions o = InfoganOptions().gan;
  EXPECT_EQ(evaluate({o.generator_optimizer.learning_rate(step)})[0].item(), 1e-3f);
  EXPECT_EQ(evaluate({o.discriminator_optimizer.learning_rate(step)})[0].item(), 2e-4f);
}

// As in the program of the paper's authors.
TEST(Infogan, NoiseIsUniform) {
  Graph graph;
  Batch batch(graph, {{"image", {{4, 8, 8, 1}, DType::f32}}});
  infogan({.networks = {.size = 8, .filters = 4}})(Scope(graph), batch, Mode::evaluate);
  int drawn = 0;
  for (const auto& node : graph) {
    EXPECT_NE(node->op().name, "random_normal");
    if (node->op().name != "random_uniform") continue;
    const auto& o = node->as<RandomOptions>();
    if (!node->scope().ends_with("noise")) continue;
    EXPECT_EQ(o.a, -1);
    EXPECT_EQ(o.b, 1);
    ++drawn;
  }
  EXPECT_EQ(drawn, 1);
}

TEST(Infogan, DataComeToShowTheirCode) {
  Estimator estimator(
      {.model_fn = infogan(of_points()), .model_dir = new_folder(), .run = models::quiet()});
  InputFn points = models::random_images({32, 2}, 1);
  estimator.train(points, {.steps = 1});
  double before = estimator.evaluate(points, {.steps = 10}).at("category_accuracy");
  estimator.train(points, {.steps = 400});
  EvalResult found = estimator.evaluate(points, {.steps = 10});
  EXPECT_LT(before, 0.8);
  EXPECT_GT(found.at("category_accuracy"), 0.95);
}

TEST(Infogan, PredictsCodesThatAreAskedFor) {
  DcganOptions networks{.size = 8, .filters = 4, .noise = 3};
  Estimator estimator({.model_fn = infogan({.networks = networks}),
                       .model_dir = new_folder(),
                       .run = models::quiet()});
  InputFn images = models::random_images({4, 8, 8, 1}, 3);
  estimator.train(images, {.steps = 1});
  auto drawn = [&](std::int64_t category, float number) {
    struct Stream final : InputStream {
      bool next(Features& batch) override {
        batch = features;
        return true;
      }
      Features features;
    };
    auto input = [=]() -> InputStreamPtr {
      auto stream = std::make_unique<Stream>();
      stream->features = {{"category", Array::of({category, category})},
                          {"continuous", Array::of({number, 0.f, number, 0.f}, {2, 2})}};
      return stream;
    };
    for (const Features& row : estimator.predict(input)) return row.at("generated").clone();
    return Array();
  };
  EXPECT_TRUE(identical(drawn(3, 0.5f), drawn(3, 0.5f)));
  EXPECT_FALSE(identical(drawn(3, 0.5f), drawn(4, 0.5f)));
  EXPECT_FALSE(identical(drawn(3, 0.5f), drawn(3, -0.5f)));
}

TEST(Infogan, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([] { infogan({.code = {.categories = 0}}); }), HasSubstr("got 0 and 2"));
  EXPECT_THAT(error_of([] { infogan({.networks = {.classes = 3}}); }),
              HasSubstr("told no class, got 3"));
  InfoganOptions options;
  options.gan.generator = dcgan_generator();
  EXPECT_THAT(error_of([&] { infogan(options); }), HasSubstr("set InfoganOptions::generator"));
  Graph graph;
  EXPECT_THAT(error_of([&] {
                mutual_information_penalty(constant(graph, Array::zeros({2, 3})), Code());
              }),
              HasSubstr("expected [n, 12], got f32[2, 3]"));
}

}  // namespace
}  // namespace belfry::gan
