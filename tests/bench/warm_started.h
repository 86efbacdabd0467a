#pragma once
// Models that begin with weights from elsewhere, and what they predict.

#include <map>
#include <string>

#include "belfry/models/models.h"
#include "one_batch.h"

namespace belfry::bench {

/// The model of peers/tensorflow_checkpoint.py.
inline EstimatorSpec of_tensorflow(Scope s, const Batch& batch, Mode mode) {
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 3, .kernel = 3, .stride = 2});
  x = relu(batch_norm(s / "norm", x, {.training = mode == Mode::train, .momentum = 0.8}));
  Tensor words = embedding(s / "words", batch["word"], {.rows = 7, .width = 2});
  x = concat({reshape(x, {x.size(0), -1}), words}, 1);
  return {.predictions = {{"logits", dense(s / "head", x, {.units = 4})}}};
}

/// Predicts the input of the last softmax.
inline ModelFn with_logits(ModelFn model) {
  return [=](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = model(s, batch, mode);
    for (const auto& [name, prediction] : spec.predictions)
      if (prediction.node().op().name == "softmax") {
        Tensor logits = prediction.node().input(0);
        return EstimatorSpec{.predictions = {{"logits", logits}}};
      }
    fail("the model predicts no probabilities");
  };
}

/// A model, and what its variables are called where they come from.
struct Source {
  ModelFn model;
  std::map<std::string, std::string> names;
};

/// The source of `tensorflow`, or of a residual network of torchvision: resnet50.
inline Source source_of(const std::string& model) {
  if (model == "tensorflow")
    return {of_tensorflow, {{"norm/scale", "norm/gamma"}, {"norm/offset", "norm/beta"}}};
  require(model.starts_with("resnet"), "unknown model `", model, "`");
  return {with_logits(models::make(model, R"({"classes": 1000, "stem": "large"})")),
          models::torchvision_resnet_names(std::stoi(model.substr(6)))};
}

/// Its logits for a batch, with the weights in `from`.
inline Array warm_logits(const Source& source, const std::string& from, const Features& batch) {
  Estimator estimator(
      {.model_fn = source.model, .warm_start = WarmStart{.from = from, .names = source.names}});
  return predict_batch(estimator, batch).at("logits");
}

}  // namespace belfry::bench
