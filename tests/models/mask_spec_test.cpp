#include "belfry/models/mask_spec.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../framework/base/error_of.h"
#include "belfry/models/unet/unet.h"
#include "belfry/models/unet/unet_resnest.h"
#include "belfry/models/unet/unet_swin.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

const double ln2 = std::log(2.0), ln3 = std::log(3.0), ln4_3 = std::log(4.0 / 3);

// mask_spec() alone, on logits that are a feature.
Estimator with(const MaskOptions& o) {
  ModelFn model = [o](Scope s, const Batch& batch, Mode mode) {
    Tensor logits = batch["logits"] * s.variable("w", {.initializer = ones()});
    return mask_spec(s, logits, batch, mode, o);
  };
  return Estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
}
EvalResult evaluated(const MaskOptions& o, const Features& batch) {
  return with(o).evaluate(one_batch(batch));
}
Features predicted(const MaskOptions& o, const Features& batch) {
  Features out;
  with(o).predict(one_batch(batch), {.single_examples = false}).next(out);
  return out;
}

// Three pixels of two classes: probabilities 3/4, 1/2, 1/4 and 1/2, 1/2, 3/4.
Features two_classes() {
  auto l = static_cast<float>(ln3);
  return {{"logits", Array::of({l, 0.f, 0.f, 0.f, -l, l}, Shape{1, 1, 3, 2})},
          {"mask", Array::of({1.f, 0.f, 0.f, 0.f, 0.f, 1.f}, Shape{1, 1, 3, 2})}};
}

TEST(MaskSpec, ClassesHaveWeightsAndOverlapsOfTheirOwn) {
  MaskOptions o{.classes = 2, .positive_weight = {5, 2}, .dice_weight = 2};
  double cross_entropy = (5 * ln4_3 + ln2 + ln4_3 + 2 * ln2 + 2 * ln4_3) / 6;
  double dice = ((1 - 2.5 / 3.5) + (1 - 2.5 / 3.75)) / 2;
  EXPECT_NEAR(evaluated(o, two_classes()).at("loss"), cross_entropy + 2 * dice, 1e-6);
  o.dice_weight = 0;
  EXPECT_NEAR(evaluated(o, two_classes()).at("loss"), cross_entropy, 1e-6);
}

// At a threshold of 0.4 two and three pixels are marked, of which one each is set.
TEST(MaskSpec, ClassesAreMeasuredByThemselvesAndTogether) {
  EvalResult r = evaluated({.classes = 2, .threshold = 0.4}, two_classes());
  EXPECT_NEAR(r.at("dice/0"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(r.at("dice/1"), 2.0 / 4, 1e-12);
  EXPECT_NEAR(r.at("mean_iou"), (1.0 / 2 + 1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(r.at("dice"), 4.0 / 7, 1e-12);
  EXPECT_NEAR(r.at("background_dice"), 2.0 / 5, 1e-12);
  Features p = predicted({.classes = 2, .threshold = 0.6}, two_classes());
  EXPECT_EQ(p.at("mask").type(), (TensorType{{1, 1, 3, 2}, DType::boolean}));
  std::vector<bool> marked{true, false, false, false, false, true};
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(p.at("mask").at(i), marked[static_cast<std::size_t>(i)]);
}

TEST(MaskSpec, OneClassHasNoDiceByClass) {
  Array zero = Array::zeros({1, 2, 2, 1}), one = Array::zeros({1, 2, 2, 1});
  one.span<float>()[3] = 1;
  EvalResult r = evaluated({.threshold = 0.4}, {{"logits", zero}, {"mask", one}});
  EXPECT_NEAR(r.at("mean_iou"), 1.0 / 4, 1e-12);
  EXPECT_FALSE(r.contains("dice/0"));
  // Neither set nor marked.
  EXPECT_EQ(evaluated({.threshold = 0.6}, {{"logits", zero}, {"mask", zero}}).at("mean_iou"), 0);
}

// Four pixels whose softmax is 1/2 at 0, 1 and 2 (1/4 elsewhere), and 1/3 everywhere; they are 0,
// 0, 2 and 2.
Features exclusive(DType type = DType::i64) {
  auto l = static_cast<float>(ln2);
  return {{"logits",
           Array::of({l, 0.f, 0.f, 0.f, l, 0.f, 0.f, 0.f, l, 0.f, 0.f, 0.f}, Shape{1, 2, 2, 3})},
          {"mask", Array::of({0, 0, 2, 2}, Shape{1, 2, 2}).cast(type)}};
}

TEST(MaskSpec, ExclusiveClassesShareASoftmax) {
  MaskOptions o{.classes = 3, .exclusive = true, .dice_weight = 0};
  EXPECT_NEAR(evaluated(o, exclusive()).at("loss"), (ln2 + 2 * ln2 + ln2 + ln3) / 4, 1e-6);
  o.positive_weight = {1, 7, 3};
  double weighted = (ln2 + 2 * ln2 + 3 * ln2 + 3 * ln3) / 4;
  EXPECT_NEAR(evaluated(o, exclusive()).at("loss"), weighted, 1e-6);
  o.dice_weight = 0.5;
  // Probabilities add up to 4/3 for each class, where it is set to 3/4, 0 and 5/6.
  double dice =
      (1 - 2.5 / (10.0 / 3 + 1) + 1 - 1 / (4.0 / 3 + 1) + 1 - (5.0 / 3 + 1) / (13.0 / 3)) / 3;
  EXPECT_NEAR(evaluated(o, exclusive()).at("loss"), weighted + 0.5 * dice, 1e-6);
  o = {.classes = 3, .exclusive = true, .positive_weight = {4}, .dice_weight = 0};
  EXPECT_NEAR(evaluated(o, exclusive()).at("loss"), 4 * ln2 + ln3, 1e-6);
}

// Marked are 0, 1, 2 and, the first of equals, 0.
TEST(MaskSpec, ExclusiveClassesAreMeasured) {
  MaskOptions o{.classes = 3, .exclusive = true};
  for (DType type : {DType::u8, DType::i32, DType::i64}) {
    EvalResult r = evaluated(o, exclusive(type));
    EXPECT_NEAR(r.at("accuracy"), 0.5, 1e-12);
    EXPECT_NEAR(r.at("mean_iou"), (1.0 / 3 + 0 + 1.0 / 2) / 3, 1e-12);
    EXPECT_NEAR(r.at("dice/0"), 0.5, 1e-12);
    EXPECT_EQ(r.at("dice/1"), 0);
    EXPECT_NEAR(r.at("dice/2"), 2.0 / 3, 1e-12);
  }
  Features column = exclusive();
  column.set("mask", column.at("mask").reshape({1, 2, 2, 1}));
  EXPECT_NEAR(evaluated(o, column).at("mean_iou"), 5.0 / 18, 1e-12);
  Features p = predicted(o, exclusive());
  EXPECT_EQ(p.at("mask").type(), (TensorType{{1, 2, 2}, DType::i64}));
  EXPECT_EQ(p.at("mask").at(1), 1);
  EXPECT_EQ(p.at("mask").at(3), 0);
  EXPECT_EQ(p.at("probability").shape(), (Shape{1, 2, 2, 3}));
  EXPECT_NEAR(p.at("probability").at(4), 0.5, 1e-6);
}

TEST(MaskSpec, ErrorsSayWhat) {
  MaskOptions o{.classes = 3, .exclusive = true};
  auto error = [&](const Array& mask) {
    Features batch = exclusive();
    batch.set("mask", mask);
    return error_of([&] { evaluated(o, batch); });
  };
  EXPECT_THAT(error(Array::of({0, 0, 2, 3}, Shape{1, 2, 2})),
              HasSubstr("mask_spec: the feature `mask` at row 0, element 3 is 3, above 2; the "
                        "option classes is 3"));
  EXPECT_THAT(error(Array::zeros({1, 2, 2})),
              HasSubstr("the mask of exclusive classes must be of integers, got f32[1, 2, 2]"));
  EXPECT_THAT(error(Array::zeros({1, 2, 2, 3}, DType::i32)),
              HasSubstr("the mask is i32[1, 2, 2, 3] but its image needs [1, 2, 2], the class of "
                        "each pixel"));
  auto refused = [](const MaskOptions& bad) { return error_of([&] { check("unet", bad); }); };
  EXPECT_EQ(refused({.classes = 0}), "unet: classes is 0; it must be at least 1");
  EXPECT_THAT(refused({.exclusive = true}), HasSubstr("is 1; it must be at least 2"));
  EXPECT_EQ(refused({.classes = 2, .positive_weight = {1, 2, 3}}),
            "unet: positive_weight has 3 numbers for 2 classes; give one for all or one for each");
}

// Images whose three classes are a third of their brightness each, as classes or as channels.
InputFn thirds(const Shape& shape, bool exclusive) {
  Array image(shape, DType::f32), channels = Array::zeros(shape.with(shape.rank() - 1, 3));
  Array classes(shape, DType::i64);
  PhiloxStream random(philox_key(3, "thirds"));
  for (std::size_t i = 0; i < image.span<float>().size(); ++i) {
    float x = image.span<float>()[i] = random.uniform();
    auto third = static_cast<std::size_t>(3 * x);
    classes.span<std::int64_t>()[i] = static_cast<std::int64_t>(third);
    channels.span<float>()[3 * i + third] = 1;
  }
  return one_batch({{"image", image}, {"mask", exclusive ? classes : channels}}, true);
}

TEST(MaskSpec, EveryNetworkLearnsSeveralClasses) {
  Optimizer fast = adam({.learning_rate = 0.02});
  for (bool alone : {false, true}) {
    UnetOptions plain{
        .depth = 1, .filters = 6, .classes = 3, .exclusive = alone, .optimizer = fast};
    UnetResnestOptions resnest{.blocks = {1},
                               .filters = 4,
                               .decoder_filters = 8,
                               .classes = 3,
                               .exclusive = alone,
                               .optimizer = fast};
    UnetSwinOptions swin{.channels = 16,
                         .blocks = {1, 1},
                         .heads = {2, 2},
                         .window = 2,
                         .patch = 2,
                         .classes = 3,
                         .exclusive = alone,
                         .optimizer = adam({.learning_rate = 0.01})};
    Shape image{2, 8, 8, 1}, volume{2, 4, 4, 4, 1};
    for (const auto& [model, shape] : {std::pair{unet(plain), image},
                                       {unet3d(plain), volume},
                                       {unet_resnest(resnest), image},
                                       {unet_swin(swin), image}}) {
      Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
      InputFn input = thirds(shape, alone);
      double before = estimator.evaluate(input, {.steps = 1}).at("mean_iou");
      estimator.train(input, {.steps = 150});
      double after = estimator.evaluate(input, {.steps = 1}).at("mean_iou");
      EXPECT_GT(after, 0.6) << alone << ' ' << to_string(shape);
      EXPECT_GT(after, before + 0.1);
    }
  }
}

}  // namespace
}  // namespace belfry::models
