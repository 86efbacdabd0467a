// Values by hand: the formulas in double, on logits that are ordinary, negative, huge and NaN.
#include "belfry/models/gan/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../../framework/base/error_of.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// The losses of these logits.
struct Values {
  double generator, discriminator;
};
Values values_of(const Loss& loss, const std::vector<float>& real, const std::vector<float>& fake) {
  Graph graph;
  Scope s(graph);
  auto logits = [&](const std::string& name, const std::vector<float>& of) {
    return input(graph, name, {{std::ssize(of), 1}, DType::f32});
  };
  GanModel model{
      .real_logits = logits("r", real), .generated_logits = logits("f", fake), .scope = s};
  auto array = [](const std::vector<float>& of) {
    return Array::of(std::span<const float>(of), {std::ssize(of), 1});
  };
  auto result = evaluate({loss.generator(model), loss.discriminator(model)},
                         {{"r", array(real)}, {"f", array(fake)}});
  return {result[0].item(), result[1].item()};
}

// The mean of f over these.
template <class F>
double mean_of(const std::vector<float>& x, F f) {
  double sum = 0;
  for (float v : x) sum += f(double{v});
  return sum / static_cast<double>(x.size());
}

const std::vector<std::pair<std::vector<float>, std::vector<float>>> logits{
    {{0.5f, -1.25f, 3}, {-2, 0, 1.5f}},
    {{-4, -0.125f}, {-7, -3}},
    {{1e4f, -1e4f}, {1e4f, 3}},
    {{1e30f, -2}, {-1e30f, 5}},
};

void expect(const Loss& loss, auto generator, auto discriminator) {
  for (const auto& [r, f] : logits) {
    Values found = values_of(loss, r, f);
    double g = generator(r, f), d = discriminator(r, f);
    EXPECT_NEAR(found.generator, g, 1e-6 * std::max(1.0, std::abs(g))) << r[0];
    EXPECT_NEAR(found.discriminator, d, 1e-6 * std::max(1.0, std::abs(d))) << r[0];
  }
}

double minus(double x) { return -x; }
double same(double x) { return x; }
double as_real(double x) { return softplus_of(-x); }

TEST(GanLosses, Minimax) {
  auto d = [](auto& r, auto& f) { return mean_of(r, as_real) + mean_of(f, softplus_of); };
  expect(
      minimax({.label_smoothing = 0}), [](auto&, auto& f) { return -mean_of(f, softplus_of); }, d);
  expect(
      modified({.label_smoothing = 0}), [](auto&, auto& f) { return mean_of(f, as_real); }, d);
}

// With the target t = 0.875 that TF-GAN has for a smoothing of 0.25: t s(-x) + (1 - t) s(x).
TEST(GanLosses, LabelSmoothingIsOfRealDataAlone) {
  auto smooth = [](double x) { return 0.875 * softplus_of(-x) + 0.125 * softplus_of(x); };
  expect(
      modified(), [](auto&, auto& f) { return mean_of(f, as_real); },
      [&](auto& r, auto& f) { return mean_of(r, smooth) + mean_of(f, softplus_of); });
}

TEST(GanLosses, Wasserstein) {
  expect(
      wasserstein(), [](auto&, auto& f) { return mean_of(f, minus); },
      [](auto& r, auto& f) { return mean_of(f, same) - mean_of(r, same); });
}

TEST(GanLosses, Hinge) {
  expect(
      hinge(), [](auto&, auto& f) { return mean_of(f, minus); },
      [](auto& r, auto& f) {
        return mean_of(r, [](double x) { return std::max(0.0, 1 - x); })
               + mean_of(f, [](double x) { return std::max(0.0, 1 + x); });
      });
}

TEST(GanLosses, LeastSquares) {
  Values found = values_of(least_squares({.real = 2, .fake = -1, .wanted = 0.5}), {3, 1}, {1, -2});
  EXPECT_FLOAT_EQ(found.generator, (0.25 + 6.25) / 4);
  EXPECT_FLOAT_EQ(found.discriminator, (1 + 1) / 4.0 + (4 + 1) / 4.0);
  found = values_of(least_squares(), {3, 1}, {1, -2});
  EXPECT_FLOAT_EQ(found.generator, (0 + 9) / 4.0);
  EXPECT_FLOAT_EQ(found.discriminator, (4 + 0) / 4.0 + (1 + 4) / 4.0);
}

TEST(GanLosses, RelativisticAverage) {
  auto prefers = [](auto& better, auto& worse) {
    double b = mean_of(better, same), w = mean_of(worse, same);
    return mean_of(better, [&](double x) { return softplus_of(w - x); })
           + mean_of(worse, [&](double x) { return softplus_of(x - b); });
  };
  expect(
      relativistic_average(), [&](auto& r, auto& f) { return prefers(f, r); },
      [&](auto& r, auto& f) { return prefers(r, f); });
}

TEST(GanLosses, NanStaysNan) {
  for (const Loss& loss :
       {minimax(), modified(), wasserstein(), hinge(), least_squares(), relativistic_average()}) {
    Values found = values_of(loss, {1, 2}, {nan, 2});
    EXPECT_TRUE(std::isnan(found.generator));
    EXPECT_TRUE(std::isnan(found.discriminator));
    EXPECT_TRUE(std::isnan(values_of(loss, {nan, 2}, {1, 2}).discriminator));
  }
}

TEST(GanLosses, OptionsOutOfRangeAreRefused) {
  EXPECT_THAT(error_of([] { minimax({.label_smoothing = 1.5}); }), HasSubstr("in [0, 1], got 1.5"));
  EXPECT_THAT(error_of([] { with_gradient_penalty(wasserstein(), {.target = 0}); }),
              HasSubstr("gradient_penalty: the target must be above 0, got 0"));
  EXPECT_THAT(error_of([] { with_gradient_penalty(wasserstein(), {.weight = -1}); }),
              HasSubstr("at least 0, got -1"));
}

// ---- gradient penalty

// D(x) = x w, whose gradient is w everywhere.
struct Linear {
  Graph graph;
  Scope s{graph};
  Tensor w = input(graph, "w", {{3, 1}, DType::f32});
  GanModel model{.real = input(graph, "real", {{4, 3}, DType::f32}),
                 .generated = input(graph, "fake", {{4, 3}, DType::f32}),
                 .discriminator = [this](Tensor x) { return matmul(x, w); },
                 .scope = s};

  std::vector<Array> run(std::vector<Tensor> outputs, std::initializer_list<float> weights) {
    return evaluate(std::move(outputs), {{"w", Array::of(weights, {3, 1})},
                                         {"real", Array::zeros({4, 3})},
                                         {"fake", Array::zeros({4, 3})}});
  }
};

TEST(GradientPenalty, OfALinearFunctionIsThatOfItsWeights) {
  Linear d;
  // |w| = 7
  EXPECT_FLOAT_EQ(d.run({gradient_penalty(d.model)}, {2, 3, 6})[0].item(), 36);
  EXPECT_FLOAT_EQ(d.run({gradient_penalty(d.model, {.target = 2})}, {2, 3, 6})[0].item(), 6.25);
  EXPECT_FLOAT_EQ(d.run({gradient_penalty(d.model, {.epsilon = 15})}, {2, 3, 6})[0].item(), 49);
  EXPECT_FLOAT_EQ(d.run({gradient_penalty(d.model, {.target = 14})}, {2, 3, 6})[0].item(), 0.25);
  Tensor one_sided = gradient_penalty(d.model, {.target = 14, .one_sided = true});
  EXPECT_EQ(d.run({one_sided}, {2, 3, 6})[0].item(), 0);
}

// The gradient of (|w| - 1)^2 is 2 (|w| - 1) w / |w|.
TEST(GradientPenalty, HasAGradientItself) {
  Linear d;
  Tensor of_w = gradients(gradient_penalty(d.model), std::vector{d.w})[0];
  Array found = d.run({of_w}, {2, 3, 6})[0];
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found.at(i), 12.0 * (i == 0 ? 2 : 3 * i) / 7, 1e-5);
}

// D(x) = x^2 / 2 has the slope |x|: between 0 and 1 that is u, whose mean square distance from 1
// is that of 1 - u, and every row has another u.
TEST(GradientPenalty, LooksBetweenRealAndGenerated) {
  Graph graph;
  Tensor real = constant(graph, Array::zeros({1000, 1}));
  GanModel model{.real = real,
                 .generated = real + 1,
                 .discriminator = [](Tensor x) { return square(x) * 0.5; },
                 .scope = Scope(graph)};
  EXPECT_NEAR(evaluate({gradient_penalty(model)}, {})[0].item(), 1.0 / 3, 0.03);
}

TEST(GradientPenalty, IsAddedToTheDiscriminatorsLoss) {
  Linear d;
  d.model.real_logits = d.model.discriminator(d.model.real);
  d.model.generated_logits = d.model.discriminator(d.model.generated);
  Loss loss = with_gradient_penalty(wasserstein(), {.weight = 0.5});
  EXPECT_FLOAT_EQ(d.run({loss.discriminator(d.model)}, {2, 3, 6})[0].item(), 18);
  EXPECT_FLOAT_EQ(d.run({loss.generator(d.model)}, {2, 3, 6})[0].item(), 0);
}

TEST(GradientPenalty, DataThatDifferAreRefused) {
  Linear d;
  d.model.real = input(d.graph, "other", {{4, 2}, DType::f32});
  EXPECT_THAT(error_of([&] { gradient_penalty(d.model); }),
              HasSubstr("real data are f32[4, 2] but generated data f32[4, 3]"));
}

// ---- the others

TEST(GanLosses, CycleConsistencyIsTheMeanDistanceOfBothDirections) {
  Graph graph;
  auto c = [&](std::initializer_list<float> v) {
    return constant(graph, Array::of(v, {static_cast<std::int64_t>(v.size()), 1}));
  };
  Tensor loss = cycle_consistency(c({1, 2}), c({3, -2}), c({0, 0, 0}), c({1, -2, 0}));
  EXPECT_FLOAT_EQ(evaluate({loss}, {})[0].item(), (2 + 4) / 2.0 + (1 + 2) / 3.0);
}

TEST(GanLosses, CombinedByAWeight) {
  Graph graph;
  Tensor loss = combine_adversarial_loss(constant(graph, 3, DType::f32),
                                         constant(graph, 5, DType::f32), {.weight = 0.25});
  EXPECT_FLOAT_EQ(evaluate({loss}, {})[0].item(), 4.25);
}

// The gradients are (3, 4) and (0, 1): with a ratio of 2 the weight is 5 / 1 / 2, and it is a
// number that no gradient flows through.
TEST(GanLosses, CombinedByTheRatioOfGradients) {
  Graph graph;
  Variable v = Scope(graph).variable("v", {.shape = {2}});
  Tensor main = sum(v.value() * constant(graph, Array::of({3.f, 4.f})));
  Tensor adversarial = sum(v.value() * constant(graph, Array::of({0.f, 1.f}))) + 7;
  Tensor loss = combine_adversarial_loss(main, adversarial,
                                         {.gradient_ratio = 2, .epsilon = 0, .variables = {v}});
  Tensor gradient = gradients(loss, std::vector<Tensor>{v})[0];
  auto found = evaluate({loss, gradient}, {});
  EXPECT_FLOAT_EQ(found[0].item(), 2.5 * 7);
  EXPECT_FLOAT_EQ(found[1].at(0), 3);
  EXPECT_FLOAT_EQ(found[1].at(1), 4 + 2.5);
}

// The squares of these gradients overflow f32, or vanish in it.
TEST(GanLosses, TheRatioHoldsForLargeAndSmallGradients) {
  for (float large : {0x1p66f, 0x1p100f}) {
    Graph graph;
    Variable v = Scope(graph).variable("v", {.shape = {2}});
    Tensor main = sum(v.value() * constant(graph, Array::of({3 * large, 4 * large})));
    Tensor adversarial = sum(v.value() * constant(graph, Array::of({1 / large, 0.f}))) + 1;
    Tensor loss = combine_adversarial_loss(main * (1 / large), adversarial,
                                           {.gradient_ratio = 2, .epsilon = 0, .variables = {v}});
    EXPECT_FLOAT_EQ(evaluate({loss}, {})[0].item(), 2.5 * large);
    Tensor unit = sum(v.value() * constant(graph, Array::of({1.f, 0.f})));
    Tensor other =
        combine_adversarial_loss(main, unit, {.gradient_ratio = 2, .epsilon = 0, .variables = {v}});
    Tensor gradient = gradients(other, std::vector<Tensor>{v})[0];
    EXPECT_FLOAT_EQ(evaluate({gradient}, {})[0].at(0), 3 * large + 2.5 * large);
  }
}

TEST(GanLosses, ContradictionsInCombiningAreRefused) {
  Graph graph;
  Tensor x = constant(graph, 1, DType::f32);
  EXPECT_THAT(error_of([&] { combine_adversarial_loss(x, x, {}); }), HasSubstr("set one of"));
  EXPECT_THAT(error_of([&] { combine_adversarial_loss(x, x, {.weight = 1, .gradient_ratio = 1}); }),
              HasSubstr("set one of"));
  EXPECT_THAT(error_of([&] { combine_adversarial_loss(x, x, {.gradient_ratio = 1}); }),
              HasSubstr("needs variables"));
}

}  // namespace
}  // namespace belfry::gan
