#include "belfry/framework/optimizers/gradient_edits.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Throws;

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

TEST_F(GradientEdits, Errors) {
  EXPECT_THAT([&] { global_norm({}); }, fails("global_norm: there are no gradients"));
  EXPECT_THAT([&] { clip_by_global_norm(five, 0); },
              fails("clip_by_global_norm: max_norm is 0; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_by_norm(five, std::nan("")); },
              fails("clip_by_norm: max_norm is nan; it must be finite and above 0"));
  EXPECT_THAT([&] { clip_by_value(five, -1); },
              fails("clip_by_value: limit is -1; it must be finite and above 0"));
  EXPECT_THAT([&] { add_weight_decay(five, {.rate = -1}); },
              fails("add_weight_decay: rate is -1; it must be finite and at least 0"));
}

}  // namespace
}  // namespace belfry
