// Input that users hand to models by mistake, and the errors that they get. Covers classifiers and
// segmentation of images, and GANs; errors of ResNeSt, Swin and others in words of their own are in
// their tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../framework/base/error_of.h"
#include "belfry/models/models.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  ModelFn model;
  const char* place;  // of the layer that sees the image first
};

// All classify images [2, 32, 32, 3] as one of ten.
std::vector<Case> classifiers() {
  return {{"lenet", lenet(), "at conv1"},
          {"mlp", mlp({.hidden = {4}}), "at hidden1"},
          {"mobilenet_v2", mobilenet_v2({.classes = 10, .width = 0.1}), "at stem/conv"},
          {"resnet18", resnet18(), "at stem/conv"},
          {"resnet50", resnet50({.classes = 10}), "at stem/conv"},
          {"vgg", vgg({.layers = 11, .classes = 10, .hidden = 8}), "at stage1/conv1"}};
}

TensorType of(const Shape& shape, DType dtype = DType::f32) { return {shape, dtype}; }

std::string error_of_building(const ModelFn& model, const Signature& signature,
                              Mode mode = Mode::train) {
  return error_of([&] {
    Graph graph;
    Batch batch(graph, signature);
    model(Scope(graph), batch, mode);
  });
}

const TensorType good_image = of({2, 32, 32, 3}), good_label = of(Shape{2}, DType::i64);

TEST(BadInput, MissingFeaturesAreNamed) {
  for (const Case& c : classifiers()) {
    EXPECT_THAT(error_of_building(c.model, {{"label", good_label}}),
                HasSubstr("unknown feature `image`; this batch has label"))
        << c.name;
    EXPECT_THAT(error_of_building(c.model, {{"image", good_image}}, Mode::evaluate),
                HasSubstr("unknown feature `label`; this batch has image"))
        << c.name;
    EXPECT_EQ(error_of_building(c.model, {{"image", good_image}}, Mode::predict), "no error")
        << c.name;
  }
}

TEST(BadInput, ImagesOfAnotherRankTypeOrSizeAreRefusedWhereTheyAreRead) {
  for (const Case& c : classifiers()) {
    auto error = [&](const TensorType& image) {
      return error_of_building(c.model, {{"image", image}, {"label", good_label}});
    };
    EXPECT_THAT(error(of({2, 32, 32, 3}, DType::u8)),
                AllOf(HasSubstr("must be of a floating type, got u8["),
                      HasSubstr("; cast it first"), HasSubstr(c.place)))
        << c.name;
    EXPECT_THAT(error(of({2, 0, 0, 3})),
                AllOf(AnyOf(HasSubstr("the image has 0 rows; at least 1 is needed"),
                            HasSubstr("the last axis of x has no elements, got f32[2, 0]")),
                      HasSubstr(c.place)))
        << c.name;
    if (std::string(c.name) == "mlp") continue;  // takes any
    EXPECT_THAT(
        error(of({2, 3072})),
        AllOf(HasSubstr("must be an image [n, h, w, c], got f32[2, 3072]"), HasSubstr(c.place)))
        << c.name;
  }
}

TEST(BadInput, LabelsOfAnotherShapeOrTypeAreRefused) {
  for (const Case& c : classifiers())
    for (Mode mode : {Mode::train, Mode::evaluate}) {
      auto error = [&](const TensorType& label) {
        return error_of_building(c.model, {{"image", good_image}, {"label", label}}, mode);
      };
      EXPECT_THAT(error(of(Shape{3}, DType::i64)), AllOf(HasSubstr("label"), HasSubstr("i64[3]")))
          << c.name;
      EXPECT_THAT(error(of({2, 2}, DType::i64)), AllOf(HasSubstr("label"), HasSubstr("i64[2, 2]")))
          << c.name;
      EXPECT_THAT(error(of(Shape{2})), HasSubstr("labels must be i32 or i64, got f32[2]"))
          << c.name;
    }
}

TEST(BadInput, MasksOfAnotherSizeOrTypeAreRefused) {
  UnetOptions small{.depth = 1, .filters = 2};
  for (Mode mode : {Mode::train, Mode::evaluate}) {
    auto error = [&](const TensorType& mask) {
      return error_of_building(unet(small), {{"image", of({2, 8, 8, 3})}, {"mask", mask}}, mode);
    };
    EXPECT_THAT(error(of({2, 8, 4, 1})),
                HasSubstr("the mask is f32[2, 8, 4, 1] but its image needs [2, 8, 8, 1]"));
    EXPECT_THAT(error(of({2, 8, 8})), HasSubstr("the mask is f32[2, 8, 8] but"));
    EXPECT_THAT(error(of({3, 8, 8, 1})), HasSubstr("the mask is f32[3, 8, 8, 1] but"));
    EXPECT_THAT(error(of({2, 8, 8, 1}, DType::u8)), HasSubstr("u8[2, 8, 8, 1]"));
    small.classes = 3;
    EXPECT_THAT(
        error(of({2, 8, 8}, DType::i64)),
        HasSubstr("the mask is i64[2, 8, 8] but its image needs [2, 8, 8, 3]; where it holds "
                  "the class of each pixel set the option exclusive"));
    small.classes = 1;
  }
  for (const ModelFn& model :
       {unet_resnest(), unet_swin({.channels = 4, .blocks = {1, 1}, .heads = {1, 2}, .window = 4})})
    EXPECT_THAT(
        error_of_building(model, {{"image", of({2, 64, 64, 3})}, {"mask", of({2, 64, 32, 1})}}),
        HasSubstr("the mask is f32[2, 64, 32, 1] but its image needs [2, 64, 64, 1]"));
  EXPECT_THAT(error_of_building(unet3d(small),
                                {{"image", of({1, 4, 8, 8, 1})}, {"mask", of({1, 8, 8, 1})}}),
              HasSubstr("the mask is f32[1, 8, 8, 1] but its image needs [1, 4, 8, 8, 1]"));
  EXPECT_THAT(error_of_building(unet(small), {{"image", of({2, 8, 8, 3})}}),
              HasSubstr("unknown feature `mask`; this batch has image"));
  EXPECT_THAT(error_of_building(unet(small), {{"image", of({2, 8, 8, 3}, DType::i32)}}),
              AllOf(HasSubstr("got i32[2, 8, 8, 3]; cast it first"), HasSubstr("at down1/conv1")));
}

TEST(BadInput, ImagesWithoutABatchOrWithoutPixelsAreRefused) {
  EXPECT_THAT(error_of_building(lenet(), {{"image", of({32, 32, 3})}, {"label", good_label}}),
              HasSubstr("got f32[32, 32, 3]; if the axis of the batch is missing, put batch() "
                        "behind the dataset, else use conv1d (at conv1"));
  ModelFn swin = unet_swin({.channels = 4, .blocks = {1}, .heads = {1}});
  for (const ModelFn& model : {unet({.depth = 1, .filters = 2}), unet_resnest(), swin})
    EXPECT_THAT(error_of_building(model, {{"image", of({2, 64, 0, 3})}}),
                HasSubstr(": the image is f32[2, 64, 0, 3], which has no pixels"));
}

// ---- what only a run can tell

class Batches final : public InputStream {
 public:
  explicit Batches(std::vector<Features> batches) : batches_(std::move(batches)) {}
  bool next(Features& batch) override {
    if (at_ == batches_.size()) return false;
    batch = batches_[at_++];
    return true;
  }

 private:
  std::vector<Features> batches_;
  std::size_t at_ = 0;
};
InputFn in_turn(std::vector<Features> batches) {
  return [=] { return std::make_unique<Batches>(batches); };
}

// Rows of four numbers that are all 1, with these labels.
Features ones(std::vector<std::int64_t> labels) {
  auto rows = static_cast<std::int64_t>(labels.size());
  Array image(Shape{rows, 4}, DType::f32), label(Shape{rows}, DType::i64);
  for (float& x : image.span<float>()) x = 1;
  std::copy(labels.begin(), labels.end(), label.span<std::int64_t>().begin());
  return {{"image", image}, {"label", label}};
}

EstimatorOptions small_classifier() {
  return {
      .model_fn = mlp({.hidden = {4}, .classes = 3}), .model_dir = new_folder(), .run = quiet()};
}

TEST(BadInput, LabelsOutOfRangeAreNamedWithTheirRow) {
  for (std::int64_t label : {3, -1}) {
    Estimator estimator(small_classifier());
    InputFn input = in_turn({ones({0, 2}), ones({0, 1, label})});
    auto expected = AllOf(HasSubstr(concat("label ", label, " at row 2 is outside 0..2")),
                          HasSubstr("at head"));
    EXPECT_THAT(error_of([&] { estimator.evaluate(input); }), expected);
    EXPECT_THAT(error_of([&] { estimator.train(input); }),
                AllOf(expected, HasSubstr("in training step 2")));
  }
}

TEST(BadInput, MasksOutOfRangeAreNamedWithTheirRow) {
  Estimator estimator(
      {.model_fn = unet({.depth = 1, .filters = 1}), .model_dir = new_folder(), .run = quiet()});
  Array image = Array::zeros({2, 4, 4, 1}), mask = Array::zeros({2, 4, 4, 1});
  mask.span<float>()[0] = 1;
  mask.span<float>()[21] = 255;
  InputFn input = in_turn({{{"image", image}, {"mask", mask}}});
  auto expected = HasSubstr(
      "mask_spec: the feature `mask` at row 1, element 5 is 255, above 1; "
      "masks lie in [0, 1]; divide one of 0 and 255 by 255, for example by data::to_float() "
      "(at head/mask)");
  EXPECT_THAT(error_of([&] { estimator.evaluate(input); }), expected);
  EXPECT_THAT(error_of([&] { estimator.train(input); }), expected);
  mask.span<float>()[21] = 0.5f;
  EXPECT_EQ(error_of([&] {
              estimator.train(in_turn({{{"image", image}, {"mask", mask}}}));
            }),
            "no error");
}

TEST(BadInput, BatchesWithoutRowsAreRefusedInTrainingAndCountNothingElse) {
  Estimator estimator(small_classifier());
  EXPECT_THAT(error_of([&] {
                estimator.train(in_turn({ones({0, 1}), ones({})}));
              }),
              AllOf(HasSubstr("the batch has no rows; leave such batches out of the stream"),
                    HasSubstr("in training step 2")));
  EXPECT_EQ(estimator.evaluate(in_turn({ones({}), ones({0, 1}), ones({})})).at("loss"),
            estimator.evaluate(in_turn({ones({0, 1})})).at("loss"));
  EXPECT_THAT(error_of([&] {
                estimator.evaluate(in_turn({ones({}), ones({})}));
              }),
              HasSubstr("evaluate: the input has no rows"));
  std::int64_t predictions = 0;
  for ([[maybe_unused]] const Features& row :
       estimator.predict(in_turn({ones({}), ones({0, 1}), ones({})})))
    ++predictions;
  EXPECT_EQ(predictions, 2);
}

// ---- adversarial networks

gan::GanOptions small_gan(std::int64_t classes) {
  gan::DcganOptions o{.size = 8, .filters = 2, .noise = 3, .classes = classes};
  return {.generator = gan::dcgan_generator(o), .discriminator = gan::dcgan_discriminator(o)};
}

TEST(BadInput, GansNameWhatTheyLack) {
  EXPECT_THAT(error_of_building(gan::gan(small_gan(0)), {{"label", good_label}}),
              HasSubstr("unknown feature `image`; this batch has label"));
  EXPECT_THAT(error_of_building(gan::gan(small_gan(3)), {{"image", of({2, 8, 8, 1})}}),
              HasSubstr("unknown feature `label`; this batch has image"));
  EXPECT_THAT(error_of_building(gan::gan(small_gan(0)), {{"image", of({2, 16, 16, 1})}}),
              AllOf(HasSubstr("f32[2, 8, 8, 1]"), HasSubstr("f32[2, 16, 16, 1]")));
  EXPECT_THAT(error_of_building(gan::gan(small_gan(0)), {{"image", of({2, 8, 8, 1}, DType::u8)}}),
              AllOf(HasSubstr("f32[2, 8, 8, 1]"), HasSubstr("u8[2, 8, 8, 1]")));
}

// Black images of 8 x 8 pixels with these labels.
Features black(std::vector<std::int64_t> labels) {
  Features out = ones(std::move(labels));
  out.set("image", Array::zeros({out.at("label").shape()[0], 8, 8, 1}));
  return out;
}

EstimatorOptions trained_by(ModelFn model) {
  return {.model_fn = std::move(model), .model_dir = new_folder(), .run = quiet()};
}

TEST(BadInput, BatchesWithoutRowsCountNothingForGans) {
  gan::DcganOptions o{.size = 8, .filters = 2, .noise = 3, .classes = 3};
  for (const ModelFn& model :
       {gan::gan(small_gan(3)), gan::acgan({.networks = o}),
        gan::infogan({.networks = {.size = 8, .filters = 2}, .code = {.categories = 3}})}) {
    Estimator estimator(trained_by(model));
    estimator.train(in_turn({black({0, 1})}));
    EvalResult whole = estimator.evaluate(in_turn({black({0, 1})}));
    EvalResult with_empty = estimator.evaluate(in_turn({black({}), black({0, 1}), black({})}));
    for (const auto& [name, value] : whole) {
      EXPECT_TRUE(std::isfinite(value.item())) << name;
      EXPECT_EQ(with_empty.at(name), value.item()) << name;
    }
  }
}

TEST(BadInput, LabelsOutOfRangeAreNamedByGans) {
  for (std::int64_t label : {3, -1}) {
    Estimator estimator(trained_by(gan::gan(small_gan(3))));
    auto expected = HasSubstr(concat("dcgan: the feature `label` at row 2 is ", label,
                                     label < 0 ? ", below 0" : ", above 2",
                                     "; the option classes is 3 (at generator)"));
    Features bad = black({0, 1, label});
    EXPECT_THAT(error_of([&] { estimator.train(in_turn({bad, bad})); }), expected);
    EXPECT_THAT(error_of([&] {
                  for ([[maybe_unused]] const Features& row : estimator.predict(in_turn({bad}))) {
                  }
                }),
                expected);
  }
}

TEST(BadInput, CodesThatAreAskedForMustFit) {
  ModelFn model = gan::infogan({.networks = {.size = 8, .filters = 2}, .code = {.categories = 3}});
  auto error = [&](const Signature& asked) {
    return error_of_building(model, asked, Mode::predict);
  };
  EXPECT_THAT(error({{"category", of(Shape{2})}}),
              HasSubstr("infogan: the feature `category` is f32[2]; expected i64[2]"));
  EXPECT_THAT(error({{"category", of({2, 1}, DType::i64)}}),
              HasSubstr("`category` is i64[2, 1]; expected i64[2]"));
  EXPECT_THAT(error({{"continuous", of({2, 3})}}),
              HasSubstr("`continuous` is f32[2, 3]; expected f32[2, 2]"));
  EXPECT_EQ(error({{"category", of(Shape{2}, DType::i64)}, {"continuous", of({2, 2})}}),
            "no error");
  Estimator estimator(trained_by(model));
  estimator.train(in_turn({black({0, 1})}));
  EXPECT_THAT(error_of([&] {
                Features asked{{"category", Array::of<std::int64_t>({0, 3})}};
                for ([[maybe_unused]] const Features& row : estimator.predict(in_turn({asked}))) {
                }
              }),
              HasSubstr("gather: index 3 at position 1 is outside 0..2 (at generator)"));
}

}  // namespace
}  // namespace belfry::models
