// Writes <folder>/<model>/<time>/, an export of each model of models/, and beside it
// inputs.safetensors and outputs.safetensors: a batch, and what Belfry predicts for it.
#include <cstdio>
#include <filesystem>

#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/graph/leaves.h"
#include "every_model.h"

using namespace belfry;
using namespace belfry::models;

namespace {

// With the random numbers that it draws as predictions, since who runs the ONNX file must feed
// them, and what probabilities are made from, which tells differences that they hide.
ModelFn telling_more(const ModelFn& model_fn) {
  return [=](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = model_fn(s, batch, mode);
    NamedTensors more;
    for (const auto& node : s.graph())
      if (node->op().name.starts_with("random_"))
        more.emplace_back(concat("drawn:", node->scope(), "/", node->op().name), Tensor(*node) + 0);
    for (const auto& [name, prediction] : spec.predictions)
      if (prediction.node().op().name == "softmax" || prediction.node().op().name == "sigmoid")
        more.emplace_back("before:" + name, prediction.node().input(0) + 0);
    spec.predictions.insert(spec.predictions.end(), more.begin(), more.end());
    return spec;
  };
}

void write(const SmallModel& small, const std::string& folder) {
  std::filesystem::create_directories(folder);
  ModelFn model = telling_more(make(small.name, small.options));
  std::string checkpoint = folder + "/checkpoint.safetensors";
  Features batch = small.batch(5);
  write_checkpoint(checkpoint, random_checkpoint(model, batch));
  ExportOptions options{
      .model_fn = model,
      .checkpoint = checkpoint,
      .signatures = {
          {"predict", {.inputs = small.signature(), .preparation = R"({"name":"to_float"})"}}}};
  check_export(options);
  export_model(folder, options);
  Estimator estimator({.model_fn = model, .model_dir = folder + "/run", .run = quiet()});
  Features outputs;
  estimator.predict(one_batch(batch), {.single_examples = false, .checkpoint = checkpoint})
      .next(outputs);
  auto save = [&](const char* name, const Features& features) {
    NamedArrays arrays(features.begin(), features.end());
    save_safetensors(concat(folder, "/", name), arrays);
  };
  save("inputs.safetensors", batch);
  save("outputs.safetensors", outputs);
}

}  // namespace

int main(int, char** arguments) try {
  for (const SmallModel& small : every_model())
    with_context(small.name, [&] { write(small, concat(arguments[1], "/", small.name)); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
