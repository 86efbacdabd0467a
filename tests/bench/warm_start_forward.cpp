// What a model predicts that began with weights from elsewhere: see peers/warm_start_peers.py.
//
//   warm_start_forward --model resnet50 --from FILE --input FILE --output FILE
//
// --model is resnet18, resnet34 or resnet50 of torchvision, or tensorflow, the model of
// peers/tensorflow_checkpoint.py. Input and output are safetensors; predictions are logits.

#include "arguments.h"
#include "belfry/models/models.h"
#include "one_batch.h"

namespace belfry {
namespace {

EstimatorSpec of_tensorflow(Scope s, const Batch& batch, Mode mode) {
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 3, .kernel = 3, .stride = 2});
  x = relu(batch_norm(s / "norm", x, {.training = mode == Mode::train, .momentum = 0.8}));
  Tensor words = embedding(s / "words", batch["word"], {.rows = 7, .width = 2});
  x = concat({reshape(x, {x.size(0), -1}), words}, 1);
  return {.predictions = {{"logits", dense(s / "head", x, {.units = 4})}}};
}

// The input of the last softmax.
ModelFn with_logits(ModelFn model) {
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

struct Source {
  ModelFn model;
  std::map<std::string, std::string> names;
};

Source source_of(const std::string& model) {
  if (model == "tensorflow")
    return {of_tensorflow, {{"norm/scale", "norm/gamma"}, {"norm/offset", "norm/beta"}}};
  require(model.starts_with("resnet"), "unknown model `", model, "`");
  return {with_logits(models::make(model, R"({"classes": 1000, "stem": "large"})")),
          models::torchvision_resnet_names(std::stoi(model.substr(6)))};
}

void run(int argc, char** argv) {
  std::string model, from, input, output;
  bench::read_options(
      argc, argv,
      {{"--model", &model}, {"--from", &from}, {"--input", &input}, {"--output", &output}});
  Source source = source_of(model);
  Estimator estimator(
      {.model_fn = source.model, .warm_start = WarmStart{.from = from, .names = source.names}});
  Features features;
  for (const auto& [name, array] : load_safetensors(input).tensors)
    if (name != "logits") features.set(name, array);
  NamedArrays all = bench::predict_batch(estimator, features);
  save_safetensors(output, {{"logits", all.at("logits")}});
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(argc, argv); });
}
