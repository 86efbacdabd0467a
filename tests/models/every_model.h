#pragma once
// Each model of models/ by name, as small as it can be, with what it predicts from.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/step/session.h"
#include "belfry/models/make.h"
#include "models_support.h"

namespace belfry::models {

/// A feature of one example: numbers from `low` to `high`, or whole numbers below `high`.
struct SmallFeature {
  std::string name;
  TensorType type;
  double low = -1, high = 1;
};

struct SmallModel {
  std::string name, options;
  std::vector<SmallFeature> features;
  bool large = false;  ///< millions of weights, whatever its options say
  /// Features whose first axis counts steps, of which there may be any number.
  std::vector<std::string> free_steps = {};

  Signature signature() const {
    Signature of;
    for (const SmallFeature& f : features) of.emplace_back(f.name, f.type);
    return of;
  }
  /// The same with so many steps, to which lengths are at most.
  SmallModel of_steps(std::int64_t steps) const {
    SmallModel of = *this;
    for (SmallFeature& f : of.features) {
      if (std::ranges::count(free_steps, f.name)) f.type.shape = f.type.shape.with(0, steps);
      if (f.name.ends_with("length")) f.low = 1, f.high = static_cast<double>(steps + 1);
    }
    return of;
  }
  Features batch(std::int64_t rows) const {
    Features of;
    for (const SmallFeature& f : features) {
      std::vector<std::int64_t> sizes{rows};
      sizes.insert(sizes.end(), f.type.shape.begin(), f.type.shape.end());
      Array values(Shape(sizes), DType::f64);
      PhiloxStream random(philox_key(7, f.name));
      for (double& x : values.span<double>()) {
        x = f.low + (f.high - f.low) * double{random.uniform()};
        if (!is_floating(f.type.dtype)) x = std::floor(x);
      }
      of.set(f.name, values.cast(f.type.dtype));
    }
    return of;
  }
  /// batch() with what the model is trained on; acoustic has labels for 5 rows.
  Features training_batch(std::int64_t n) const {
    Features of = batch(n);
    auto counted = [](const Shape& shape, std::int64_t kinds) {
      Array values(shape, DType::i64);
      std::int64_t i = 0;
      for (std::int64_t& x : values.span<std::int64_t>()) x = i++ % kinds;
      return values;
    };
    if (name == "acoustic") {
      of.set("label", Array::of({1, 2, 3, 1, 2, 2, 1, 3, 3, 2}, Shape{n, 2}));
      of.set("label_length", Array::of<std::int64_t>({2, 1, 2, 1, 2}));
    } else if (name == "gpt") {
      of.set("label", of.at("token"));
    } else if (name.starts_with("unet")) {
      Shape mask = of.at("image").shape();
      of.set("mask", counted(mask.with(mask.rank() - 1, 1), 2).cast(DType::f32));
    } else {
      of.set("label", counted(Shape{n}, 2));
    }
    return of;
  }
};

inline void PrintTo(const SmallModel& model, std::ostream* out) { *out << model.name; }

inline std::vector<SmallModel> every_model() {
  auto image = [](std::int64_t size, std::int64_t channels) {
    return std::vector<SmallFeature>{{"image", {{size, size, channels}, DType::f32}}};
  };
  const char* mask = R"({"depth": 2, "filters": 4, "batch_norm": true})";
  const char* tables = R"({"wide": {"categorical": [{"feature": "job", "categories": 3},
                         {"feature": "age", "boundaries": [18, 65]}],
        "crossed": [{"features": ["job", "age"], "buckets": 5}]},
      "deep": {"numeric": [{"feature": "age", "mean": 40, "deviation": 10}],
        "categorical": [{"feature": "job", "categories": 4, "hashed": true, "width": 2},
                        {"feature": "age", "boundaries": [18, 65], "width": 2}]}, "hidden": [6]})";
  std::vector<SmallFeature> person{{"age", {{}, DType::f32}, 10, 80},
                                   {"job", {{}, DType::i64}, 0, 3}};
  const char* columns = R"({"columns": {"numeric": [{"feature": "age"}],
        "categorical": [{"feature": "job", "categories": 3}]}})";
  std::vector<SmallFeature> real{{"image", {{8, 8, 1}, DType::f32}}},
      labelled{{"image", {{8, 8, 1}, DType::f32}}, {"label", {{}, DType::i64}, 0, 4}};
  const char* gan = R"({"size": 8, "filters": 4, "noise": 3})";
  const char* class_gan = R"({"size": 8, "filters": 4, "noise": 3, "classes": 4})";
  return {{"lenet", R"({"hidden": 16})", image(28, 1)},
          {"mlp", R"({"hidden": [8]})", image(6, 1)},
          {"mobilenet_v2", R"({"classes": 5, "width": 0.1})", image(32, 3)},
          {"resnest50", R"({"classes": 5, "filters": 8, "blocks": [1, 1, 1, 1]})", image(32, 3)},
          {"resnet18", R"({"classes": 5})", image(32, 3), true},
          {"resnet34", R"({"classes": 5})", image(32, 3), true},
          {"resnet50", R"({"classes": 5, "stem": "large"})", image(32, 3), true},
          {"swin_tiny", R"({"classes": 5, "channels": 12, "blocks": [2, 2], "heads": [2, 3],
                        "window": 4, "patch": 2})",
           image(32, 3)},
          {"vgg11", R"({"classes": 5, "hidden": 16, "batch_norm": true})", image(32, 3), true},
          {"vgg13", R"({"classes": 5, "hidden": 16})", image(32, 3), true},
          {"vgg16", R"({"classes": 5, "hidden": 16, "batch_norm": true})", image(32, 3), true},
          {"vgg19", R"({"classes": 5, "hidden": 16})", image(32, 3), true},
          {"unet", mask, image(16, 1)},
          {"unet3d", mask, {{"image", {{8, 8, 8, 1}, DType::f32}}}},
          {"unet_resnest", R"({"blocks": [1, 1, 1, 1], "filters": 8, "decoder_filters": 8})",
           image(32, 3)},
          {"unet_swin", R"({"channels": 6, "blocks": [2, 2], "heads": [2, 3], "window": 4})",
           image(32, 3)},
          {"acoustic",
           R"({"labels": 4, "filters": [8, 8]})",
           {{"audio", {{12, 5}, DType::f32}}, {"audio_length", {{}, DType::i64}, 6, 13}}},
          {"gpt",
           R"({"vocabulary": 9, "context": 8, "depth": 1, "width": 8, "heads": 2})",
           {{"token", {{6}, DType::i64}, 0, 9}},
           false,
           {"token"}},
          {"rnn",
           R"({"units": 5, "layers": 2, "bidirectional": true, "lengths": "length"})",
           {{"x", {{6, 3}, DType::f32}}, {"length", {{}, DType::i64}, 1, 7}},
           false,
           {"x"}},
          {"transformer",
           R"({"vocabulary": 9, "depth": 1, "width": 8, "heads": 2, "hidden": 16,
                          "lengths": "length"})",
           {{"token", {{6}, DType::i64}, 0, 9}, {"length", {{}, DType::i64}, 1, 7}},
           false,
           {"token"}},
          {"baseline", "{}", person},
          {"linear", columns, person},
          {"dnn", columns, person},
          {"wide_deep", tables, person},
          {"dcgan", gan, real},
          {"wgan_gp", gan, real},
          {"cgan", class_gan, labelled},
          {"acgan", class_gan, labelled},
          {"infogan", R"({"size": 8, "filters": 4, "noise": 3, "categories": 3, "continuous": 1})",
           real},
          {"cyclegan",
           R"({"filters": 4, "blocks": 1, "patch_layers": 1})",
           {{"a", {{16, 16, 3}, DType::f32}}, {"b", {{16, 16, 3}, DType::f32}}}}};
}

/// As first values, but that no vector is of zeros or ones, and statistics are not those of
/// nothing.
inline Checkpoint random_checkpoint(const ModelFn& model_fn, const Features& batch) {
  Graph graph;
  model_fn(Scope(graph), Batch(graph, signature_of(batch)), Mode::predict);
  Checkpoint checkpoint;
  checkpoint.step = 5;
  checkpoint.seed = 11;
  for (const Node* node : graph.variables()) {
    const auto& v = node->as<VariableOptions>();
    Array value = Array::zeros(v.type.shape, v.type.dtype);
    v.initializer.fill(value, philox_key(11, v.name));
    PhiloxStream random(philox_key(13, v.name));
    bool statistic = v.kind == VariableKind::statistic;
    float width = statistic ? 0.3f : 0.1f, middle = v.name.ends_with("variance") ? 1.0f : 0.0f;
    bool constant = v.initializer.kind == Initializer::Kind::constant;
    if (v.type.dtype == DType::f32 && constant)
      for (float& x : value.span<float>())
        x = (statistic ? middle : x) + random.uniform(-width, width);
    checkpoint.variables[v.name] = value;
  }
  return checkpoint;
}

/// The plan of a training step, which is not run.
inline std::shared_ptr<const Plan> training_plan(const SmallModel& small, Precision precision) {
  RunConfig config = quiet();
  config.precision = precision;
  Session session(make(small.name, small.options), config);
  Model model(session.planner().model_fn(), Mode::train, signature_of(small.training_batch(5)), {},
              session.planner().complete());
  return session.planner().compile(model)->plans[0];
}

}  // namespace belfry::models
