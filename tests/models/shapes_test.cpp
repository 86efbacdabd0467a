// Predictions of models for batches of their published sizes, and for batches without rows. Covers
// all of models::names().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "belfry/models/make.h"
#include "models_support.h"

namespace belfry::models {
namespace {

struct Case {
  const char* name;
  const char* options;
  Signature features;
  const char* prediction;
  Shape shape;
  Shape last_image = {};  // the last tensor [n, h, w, c] that is made on the way
};

Signature image(const Shape& shape) { return {{"image", {shape, DType::f32}}}; }

// The features of a generator, whose label counts the rows.
const Signature rows{{"label", {Shape{2}, DType::i64}}};

// 224 x 224 pixels become 7 x 7: He et al., "Deep residual learning", 2016, table 1 (of ResNeSt the
// same); Simonyan and Zisserman, 2015, with a fifth pooling; Sandler et al., "MobileNetV2", 2018,
// table 2; Liu et al., "Swin transformer", 2021, figure 3. A U-Net with padding, a generator:
// as large as the image.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* name : {"vgg11", "vgg13", "vgg16", "vgg19"})
    all.push_back(
        {name, "{}", image({2, 224, 224, 3}), "probabilities", {2, 1000}, {2, 7, 7, 512}});
  for (const char* name : {"resnet18", "resnet34"})
    all.push_back({name,
                   R"({"classes": 1000})",
                   image({2, 224, 224, 3}),
                   "probabilities",
                   {2, 1000},
                   {2, 7, 7, 512}});
  for (const char* name : {"resnet50", "resnest50"})
    all.push_back(
        {name, "{}", image({2, 224, 224, 3}), "probabilities", {2, 1000}, {2, 7, 7, 2048}});
  for (const char* name : {"dcgan", "wgan_gp", "cgan", "acgan", "infogan"})
    all.push_back({name, R"({"size": 64, "channels": 3})", rows, "generated", {2, 64, 64, 3}});
  const char* table = R"({"columns": {"numeric": [{"feature": "age"}]}})";
  Signature people{{"age", {Shape{2}, DType::f32}}};
  for (const char* name : {"linear", "dnn"})
    all.push_back({name, table, people, "probability", Shape{2}});
  std::vector<Case> others{
      {"wide_deep",
       R"({"wide": {"numeric": [{"feature": "age"}]}, "deep": {"numeric": [{"feature": "age"}]}})",
       people, "probability", Shape{2}},
      {"baseline", "{}", people, "probability", Shape{2}},
      {"mlp", "{}", image({2, 28, 28, 1}), "probabilities", {2, 10}},
      {"lenet", "{}", image({2, 28, 28, 1}), "probabilities", {2, 10}, {2, 7, 7, 64}},
      {"mobilenet_v2", "{}", image({2, 224, 224, 3}), "probabilities", {2, 1000}, {2, 7, 7, 1280}},
      {"swin_tiny", "{}", image({2, 224, 224, 3}), "probabilities", {2, 1000}, {2, 7, 7, 768}},
      {"unet", "{}", image({2, 96, 64, 1}), "probability", {2, 96, 64, 1}},
      {"unet3d", "{}", image({2, 16, 24, 32, 1}), "probability", {2, 16, 24, 32, 1}},
      {"unet_resnest", "{}", image({2, 96, 64, 3}), "probability", {2, 96, 64, 1}},
      {"unet_swin", "{}", image({2, 224, 448, 3}), "probability", {2, 224, 448, 1}},
      {"acoustic",
       "{}",
       {{"audio", {{2, 91, 40}, DType::f32}}, {"audio_length", {Shape{2}, DType::i64}}},
       "logits",
       {2, 46, 27}},
      {"gpt",
       R"({"vocabulary": 9, "width": 24})",
       {{"token", {{2, 17}, DType::i64}}},
       "logits",
       {2, 9}},
      {"rnn", "{}", {{"x", {{2, 9, 3}, DType::f32}}}, "probabilities", {2, 2}},
      {"transformer",
       R"({"vocabulary": 9})",
       {{"token", {{2, 17}, DType::i64}}},
       "probabilities",
       {2, 2}},
      {"cyclegan", "{}", {{"a", {{2, 64, 32, 3}, DType::f32}}}, "a_to_b", {2, 64, 32, 3}}};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

TEST(Shapes, AreThePublishedOnes) {
  std::set<std::string> seen;
  for (const Case& c : cases()) {
    seen.insert(c.name);
    Graph graph;
    Batch batch(graph, c.features);
    EstimatorSpec spec = make(c.name, c.options)(Scope(graph), batch, Mode::predict);
    std::map<std::string, Tensor> predictions(spec.predictions.begin(), spec.predictions.end());
    ASSERT_TRUE(predictions.contains(c.prediction)) << c.name;
    EXPECT_EQ(predictions.at(c.prediction).shape(), c.shape) << c.name;
    Shape last_image;
    for (const auto& node : graph)
      if (Shape made = Tensor(*node).shape(); made.rank() == 4) last_image = made;
    if (c.last_image.rank() == 4) {
      EXPECT_EQ(last_image, c.last_image) << c.name;
    }
  }
  for (const std::string& name : names()) EXPECT_TRUE(seen.contains(name)) << name;
}

// ---- batches without rows

InputFn in_turn(const std::vector<Features>& batches) {
  struct Batches final : InputStream {
    explicit Batches(std::vector<Features> all) : left(all.rbegin(), all.rend()) {}
    bool next(Features& batch) override {
      if (left.empty()) return false;
      batch = left.back();
      left.pop_back();
      return true;
    }
    std::vector<Features> left;
  };
  return [=] { return std::make_unique<Batches>(batches); };
}

Array some(const Shape& shape) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(3, "some"));
  for (float& x : out.span<float>()) x = random.uniform();
  return out;
}

struct Small {
  const char* name;
  const char* options;
  Features batch;
};

// MLPs and other GANs are in bad_input_test.cpp.
std::vector<Small> small_models() {
  Array labels = Array::of<std::int64_t>({1, 0}), lengths = Array::of<std::int64_t>({2, 1});
  Array few = Array::of<std::int64_t>({1, 2, 2, 1}, {2, 2});
  Features pictures{{"image", some({2, 8, 8, 1})}, {"label", labels}};
  Features larger{{"image", some({2, 32, 32, 1})}, {"label", labels}};
  Features masks{{"image", some({2, 8, 8, 1})}, {"mask", some({2, 8, 8, 1})}};
  Features volumes{{"image", some({2, 4, 4, 4, 1})}, {"mask", some({2, 4, 4, 4, 1})}};
  const char* swin =
      R"({"channels": 4, "blocks": [1, 1], "heads": [1, 2], "window": 2, "patch": 2})";
  const char* age = R"({"wide": {"numeric": [{"feature": "age"}]},
                        "deep": {"categorical": [{"feature": "label", "categories": 2}]}})";
  return {{"lenet", R"({"hidden": 4})", pictures},
          {"resnet18", "{}", pictures},
          {"vgg11", R"({"hidden": 4, "classes": 2})", larger},
          {"mobilenet_v2", R"({"width": 0.1, "classes": 2})", larger},
          {"resnest50", R"({"blocks": [1], "filters": 4, "classes": 2})", pictures},
          {"swin_tiny", swin, pictures},
          {"unet", R"({"depth": 1, "filters": 2})", masks},
          {"unet3d", R"({"depth": 1, "filters": 2})", volumes},
          {"unet_resnest", R"({"blocks": [1], "filters": 4, "decoder_filters": 4})", masks},
          {"unet_swin", swin, masks},
          {"acoustic",
           R"({"filters": [4], "labels": 3})",
           {{"audio", some({2, 8, 3})},
            {"audio_length", Array::of<std::int64_t>({8, 7})},
            {"label", few},
            {"label_length", lengths}}},
          {"gpt",
           R"({"vocabulary": 3, "depth": 1, "width": 4, "heads": 2})",
           {{"token", few}, {"label", few}}},
          {"rnn",
           R"({"vocabulary": 3, "width": 4, "units": 4, "feature": "token", "lengths": "length"})",
           {{"token", few}, {"length", lengths}, {"label", labels}}},
          {"transformer",
           R"({"vocabulary": 3, "width": 4, "hidden": 4, "lengths": "length"})",
           {{"token", few}, {"length", lengths}, {"label", labels}}},
          {"wide_deep", age, {{"age", some(Shape{2})}, {"label", labels}}},
          {"cyclegan",
           R"({"filters": 2, "blocks": 1, "patch_layers": 1})",
           {{"a", some({2, 8, 8, 3})}, {"b", some({2, 8, 8, 3})}}}};
}

TEST(BatchesWithoutRows, CountNothing) {
  for (const auto& [name, options, batch] : small_models()) {
    Features empty;
    for (const auto& [feature, array] : batch) empty.set(feature, array.rows(0, 0));
    Estimator estimator(
        {.model_fn = make(name, options), .model_dir = new_folder(), .run = quiet()});
    EvalResult whole = estimator.evaluate(in_turn({batch}));
    EvalResult with_empty = estimator.evaluate(in_turn({batch, empty}));
    for (const auto& [metric, value] : whole) {
      EXPECT_TRUE(std::isfinite(value.item())) << name << " " << metric;
      EXPECT_EQ(with_empty.at(metric), value.item()) << name << " " << metric;
    }
  }
}

}  // namespace
}  // namespace belfry::models
