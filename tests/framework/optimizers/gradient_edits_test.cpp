#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Throws;

// To the precision of f32.
auto FloatNear(double x) { return testing::DoubleNear(x, std::abs(x) * 0x1p-21); }

struct GradientEdits : testing::Test {
  // A variable, filled with `value`, with its gradient.
  VariableGradient entry(std::string_view name, const Array& gradient, double value = 1) {
    Variable variable = scope.variable(name, {.shape = gradient.shape(),
                                              .dtype = gradient.dtype(),
                                              .initializer = constant_value(value)});
    return {variable, constant(graph, gradient)};
  }
  static std::vector<double> values(Tensor t) {
    Array array = evaluate({t})[0];
    std::vector<double> out;
    for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
    return out;
  }
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  // Together (1, 2, 2, 4): of norm 5.
  Gradients five{entry("a", Array::of({1.0f, 2.0f})),
                 entry("b", Array::of({2.0f, 4.0f}, Shape{2, 1}))};
};

TEST_F(GradientEdits, GlobalNorm) {
  Tensor norm = global_norm(five);
  EXPECT_EQ(norm.type(), (TensorType{{}, DType::f32}));
  EXPECT_THAT(values(norm), ElementsAre(5));
}

TEST_F(GradientEdits, GlobalNormOfOtherTypes) {
  // 300^2 is more than f16 can hold.
  Gradients half{entry("h", Array::of({300.0f, 400.0f}).cast(DType::f16))};
  EXPECT_THAT(values(global_norm(half)), ElementsAre(500));
  Gradients mixed{five[0], five[1], entry("d", Array::of({12.0}))};
  EXPECT_EQ(global_norm(mixed).dtype(), DType::f64);
  EXPECT_THAT(values(global_norm(mixed)), ElementsAre(13));
}

// Squares of f32 overflow from 2^64 on and vanish below 2^-75.
TEST_F(GradientEdits, NormsAreAsLargeAndSmallAsTheirType) {
  for (float unit : {0x1p-120f, 0x1p-80f, 0x1p-40f, 0x1p40f, 0x1p66f, 0x1p120f}) {
    Gradients g{entry(concat("a", unit), Array::of({3 * unit, 0.0f})),
                entry(concat("b", unit), Array::of({4 * unit}))};
    EXPECT_THAT(values(global_norm(g)), ElementsAre(5.0 * unit)) << unit;
    Gradients clipped = clip_by_global_norm(g, 1.25 * unit).gradients;
    EXPECT_THAT(values(clipped[0].gradient), ElementsAre(0.75 * unit, 0)) << unit;
    EXPECT_THAT(values(clip_by_norm(g, 2.0 * unit)[1].gradient), ElementsAre(2.0 * unit)) << unit;
  }
  for (double unit : {0x1p-1000, 0x1p-600, 0x1p600, 0x1p1000}) {
    Gradients g{entry(concat("d", unit), Array::of({3 * unit, 4 * unit}))};
    EXPECT_THAT(values(global_norm(g)), ElementsAre(5 * unit)) << unit;
  }
}

TEST_F(GradientEdits, ClipByGlobalNormScalesAllAlike) {
  ClippedGradients clipped = clip_by_global_norm(five, 2.5);
  ASSERT_EQ(clipped.gradients.size(), 2u);
  EXPECT_EQ(clipped.gradients[0].variable, five[0].variable);
  EXPECT_EQ(clipped.gradients[1].gradient.shape(), (Shape{2, 1}));
  EXPECT_THAT(values(clipped.gradients[0].gradient), ElementsAre(0.5, 1));
  EXPECT_THAT(values(clipped.gradients[1].gradient), ElementsAre(1, 2));
  EXPECT_THAT(values(clipped.norm), ElementsAre(5));
}

TEST_F(GradientEdits, ClipByGlobalNormLeavesSmallOnesAlone) {
  EXPECT_THAT(values(clip_by_global_norm(five, 5).gradients[0].gradient), ElementsAre(1, 2));
  EXPECT_THAT(values(clip_by_global_norm(five, 80).gradients[1].gradient), ElementsAre(2, 4));
  // More than f32 can hold, as who wants the norm alone might write.
  double highest = std::numeric_limits<double>::max();
  EXPECT_THAT(values(clip_by_global_norm(five, highest).gradients[0].gradient), ElementsAre(1, 2));
  Gradients zero{entry("z", Array::of({0.0f}))};
  EXPECT_THAT(values(clip_by_global_norm(zero, 1).gradients[0].gradient), ElementsAre(0));
}

TEST_F(GradientEdits, ClipByGlobalNormKeepsTheGradientsType) {
  Gradients half{entry("h", Array::of({300.0f, 400.0f}).cast(DType::f16))};
  Tensor clipped = clip_by_global_norm(half, 250).gradients[0].gradient;
  EXPECT_EQ(clipped.dtype(), DType::f16);
  EXPECT_THAT(values(clipped), ElementsAre(150, 200));
}

TEST_F(GradientEdits, ANormThatIsNotFiniteMakesAllNan) {
  for (float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Gradients spoilt{five[0], entry(std::isnan(bad) ? "n" : "i", Array::of({1.0f, bad}))};
    ClippedGradients clipped = clip_by_global_norm(spoilt, 1);
    EXPECT_FALSE(std::isfinite(values(clipped.norm)[0]));
    EXPECT_THAT(values(clipped.gradients[0].gradient), Each(IsNan()));
    EXPECT_THAT(values(clipped.gradients[1].gradient), Each(IsNan()));
  }
}

TEST_F(GradientEdits, ClipByNormTakesEachByItself) {
  Gradients g{entry("x", Array::of({3.0f, 4.0f})), entry("y", Array::of({0.5f}))};
  Gradients clipped = clip_by_norm(g, 1);
  EXPECT_THAT(values(clipped[0].gradient), ElementsAre(0.6f, 0.8f));
  EXPECT_THAT(values(clipped[1].gradient), ElementsAre(0.5));
}

TEST_F(GradientEdits, ClipByValue) {
  Gradients clipped = clip_by_value({entry("x", Array::of({-7.0f, -1.5f, 0.25f, 2.0f}))}, 1.5);
  EXPECT_THAT(values(clipped[0].gradient), ElementsAre(-1.5, -1.5, 0.25, 1.5));
}

TEST_F(GradientEdits, AddWeightDecayLeavesLowRanksAlone) {
  Gradients g{entry("kernel", Array::of({1.0f, 2.0f}, Shape{1, 2}), 4),
              entry("bias", Array::of({1.0f}), 4)};
  Gradients decayed = add_weight_decay(g, {.rate = 0.5});
  EXPECT_THAT(values(decayed[0].gradient), ElementsAre(3, 4));
  EXPECT_THAT(values(decayed[1].gradient), ElementsAre(1));
  decayed = add_weight_decay(g, {.rate = 0.5, .min_rank = 0});
  EXPECT_THAT(values(decayed[1].gradient), ElementsAre(3));
}

TEST_F(GradientEdits, ClipAdaptiveTakesEachUnitByItself) {
  // Columns are units. Weights of norm 2 sqrt(2) each; gradients of norm 5 and 0.5.
  Gradients g{entry("kernel", Array::of({3.0f, 0.3f, 4.0f, 0.4f}, Shape{2, 2}), 2)};
  std::vector<double> clipped = values(clip_adaptive(g, {.limit = 0.5})[0].gradient);
  double factor = std::sqrt(2.0) / 5;
  EXPECT_THAT(clipped, ElementsAre(FloatNear(3 * factor), 0.3f, FloatNear(4 * factor), 0.4f));
}

TEST_F(GradientEdits, ClipAdaptiveOfLowRanksIsOneUnit) {
  // Weights of norm 0 count as epsilon.
  Gradients g{entry("bias", Array::of({3.0f, 4.0f}), 0), entry("scale", Array::scalar(2.0f), 10),
              entry("idle", Array::of({0.0f, 0.0f}), 0)};
  Gradients clipped = clip_adaptive(g, {.limit = 0.5, .epsilon = 0.25});
  EXPECT_THAT(values(clipped[0].gradient), ElementsAre(FloatNear(0.075), FloatNear(0.1)));
  EXPECT_THAT(values(clipped[1].gradient), ElementsAre(2));
  EXPECT_THAT(values(clipped[2].gradient), ElementsAre(0, 0));
}

TEST_F(GradientEdits, ClipAdaptiveHidesNothingThatIsNotFinite) {
  // The last is finite, but its norm is more than f32 can hold.
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 3e38f}) {
    Gradients g{entry(concat("kernel", bad), Array::of({bad, 1.0f, bad, 1.0f}, Shape{2, 2}), 900)};
    std::vector<double> clipped = values(clip_adaptive(g)[0].gradient);
    EXPECT_THAT(clipped, ElementsAre(IsNan(), 1, IsNan(), 1)) << bad;
  }
}

TEST_F(GradientEdits, ClipAdaptiveTakesLargeUnits) {
  Gradients g{entry("kernel", Array::of({0x1p100f, 1.0f}, Shape{1, 2}), 8)};
  EXPECT_THAT(values(clip_adaptive(g, {.limit = 0.5})[0].gradient), ElementsAre(4, 1));
  Gradients heavy{entry("heavy", Array::of({0x1p110f}, Shape{1, 1}), 0x1p100)};
  EXPECT_THAT(values(clip_adaptive(heavy, {.limit = 0.5})[0].gradient), ElementsAre(0x1p99));
}

TEST_F(GradientEdits, CentralizeTakesEachUnitsMean) {
  Gradients g{entry("kernel", Array::of({1.0f, 10.0f, 2.0f, 20.0f, 6.0f, 60.0f}, Shape{3, 2})),
              entry("bias", Array::of({1.0f, 2.0f}))};
  Gradients centred = centralize(g);
  EXPECT_THAT(values(centred[0].gradient), ElementsAre(-2, -20, -1, -10, 3, 30));
  EXPECT_THAT(values(centred[1].gradient), ElementsAre(1, 2));
}

// The numbers are those of the scheme in random.h, with row 0 for the first row.
TEST_F(GradientEdits, NoiseIsThatOfItsVariableStepAndSeed) {
  Gradients g{entry("n", Array::zeros(Shape{2, 3}, DType::f64)),
              entry("scalar", Array::scalar(1.0)), entry("h", Array::of({0.0f}).cast(DType::f16))};
  Gradients noisy = add_gradient_noise(g, {.eta = 0.25, .gamma = 1});
  std::vector<Tensor> outputs{noisy[0].gradient, noisy[1].gradient};
  EXPECT_EQ(noisy[2].gradient.type(), g[2].gradient.type());
  auto drawn = [](std::string_view name, std::uint64_t row, std::size_t element) {
    PhiloxKey key = philox_key(7, philox_key(0, concat(name, "/gradient_noise")).value);
    auto words = philox(key, row << 32, 3);
    double radius = std::sqrt(-2 * std::log((words[element / 2 * 2] + 1.0) / 4294967296));
    double angle = 2 * std::acos(-1) * words[element / 2 * 2 + 1] / 4294967296;
    return radius * (element % 2 ? std::sin(angle) : std::cos(angle));
  };
  for (std::int64_t first_row : {0, 40}) {
    VariableStore variables(find_device("cpu"));
    Executable run(compile(outputs, {}, variables.device()), variables, 0);
    run.run({}, {.seed = 7, .step = 3, .first_row = first_row});
    for (std::size_t i = 0; i < 6; ++i)  // of deviation sqrt(0.25 / (1 + 3))
      EXPECT_NEAR(run.output(0).at(static_cast<std::int64_t>(i)), 0.25 * drawn("n", i / 3, i % 3),
                  1e-15);
    EXPECT_NEAR(run.output(1).item(), 1 + 0.25 * drawn("scalar", 0, 0), 1e-15);
  }
}

TEST_F(GradientEdits, NoiseDoesNotDependOnTheOrder) {
  Gradients g{entry("n", Array::of({0.0f, 0.0f})), entry("m", Array::of({0.0f, 0.0f}))};
  Gradients noisy = add_gradient_noise(g), turned = add_gradient_noise({g[1], g[0]});
  EXPECT_EQ(values(noisy[0].gradient), values(turned[1].gradient));
  EXPECT_EQ(values(noisy[1].gradient), values(turned[0].gradient));
  EXPECT_NE(values(noisy[0].gradient), values(noisy[1].gradient));
  EXPECT_TRUE(add_gradient_noise({}).empty());
}

TEST_F(GradientEdits, Unscale) {
  Gradients g{entry("x", Array::of({-7.0f, 1.5f})), entry("d", Array::of({3.0})),
              entry("h", Array::of({4096.0f, 1.0f}).cast(DType::f16))};
  Gradients unscaled = unscale(g, 65536);  // more than f16 can hold
  EXPECT_THAT(values(unscaled[0].gradient), ElementsAre(-7 * 0x1p-16, 1.5 * 0x1p-16));
  EXPECT_THAT(values(unscaled[1].gradient), ElementsAre(3 * 0x1p-16));
  EXPECT_EQ(unscaled[2].gradient.dtype(), DType::f16);
  EXPECT_THAT(values(unscaled[2].gradient), ElementsAre(0x1p-4, 0x1p-16));
}

TEST_F(GradientEdits, AllFinite) {
  EXPECT_EQ(all_finite(five).type(), (TensorType{{}, DType::boolean}));
  EXPECT_THAT(values(all_finite(five)), ElementsAre(1));
  Gradients extremes{entry("x", Array::of({3e38f, 3e38f, -3e38f})),
                     entry("e", Array(Shape{0}, DType::f32)), entry("d", Array::of({1e308, 1e308})),
                     entry("h", Array::of({65504.0f, -65504.0f}).cast(DType::f16))};
  EXPECT_THAT(values(all_finite(extremes)), ElementsAre(1));
  int n = 0;
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()})
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      Gradients spoilt = extremes;
      spoilt.push_back(entry(concat("bad", n++), Array::of({1.0, bad}).cast(dtype)));
      spoilt.push_back(five[0]);
      EXPECT_THAT(values(all_finite(spoilt)), ElementsAre(0)) << bad << " " << to_string(dtype);
    }
}

TEST_F(GradientEdits, EveryEditKeepsVariablesAndRates) {
  Gradients g = five;
  g[0].rate = 0.5;
  g[1].rate = 3;
  for (const Gradients& edited :
       {clip_by_global_norm(g, 1).gradients, clip_by_norm(g, 1), clip_by_value(g, 1),
        clip_adaptive(g), centralize(g), add_gradient_noise(g), unscale(g, 2),
        add_weight_decay(g, {.rate = 1})}) {
    ASSERT_EQ(edited.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(edited[i].variable, g[i].variable);
      EXPECT_EQ(edited[i].rate, g[i].rate);
      EXPECT_EQ(edited[i].gradient.type(), g[i].gradient.type());
    }
  }
}

TEST_F(GradientEdits, Errors) {
  EXPECT_THAT([&] { global_norm({}); }, fails("global_norm: there are no gradients"));
  EXPECT_THAT([&] { l2_norm({}); }, fails("l2_norm: there are no tensors"));
  EXPECT_THAT([&] { clip_by_global_norm(five, 0); },
              fails("clip_by_global_norm: max_norm is 0; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_by_norm(five, std::nan("")); },
              fails("clip_by_norm: max_norm is nan; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_by_value(five, -1); },
              fails("clip_by_value: limit is -1; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_adaptive(five, {.limit = 0}); },
              fails("clip_adaptive: limit is 0; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_adaptive(five, {.epsilon = -1}); },
              fails("clip_adaptive: epsilon is -1; it must be finite and above 0"));
  EXPECT_THAT([&] { add_gradient_noise(five, {.eta = 0}); },
              fails("add_gradient_noise: eta is 0; it must be finite and above 0"));
  EXPECT_THAT([&] { add_gradient_noise(five, {.gamma = -1}); },
              fails("add_gradient_noise: gamma is -1; it must be finite and at least 0"));
  EXPECT_THAT([&] { unscale(five, 0); },
              fails("unscale: scale is 0; it must be finite and above 0"));
  EXPECT_THAT([&] { all_finite({}); }, fails("all_finite: there are no gradients"));
  EXPECT_THAT([&] { add_weight_decay(five, {.rate = -1}); },
              fails("add_weight_decay: rate is -1; it must be finite and at least 0"));
}

}  // namespace
}  // namespace belfry
