// Writes <folder>/<model>/<time>/, an export of each model of models/ and of models_of_ops(), and
// beside it inputs.safetensors and outputs.safetensors: a batch, and what Belfry predicts for it.
#include <cstdio>
#include <filesystem>

#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/graph/leaves.h"
#include "every_model.h"
#include "models_of_ops.h"

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

// With free steps, more of them than the batch has.
void write(const SmallModel& small, const ModelFn& model_fn, const std::string& folder,
           bool free_steps = false) {
  std::filesystem::create_directories(folder);
  ModelFn model = telling_more(model_fn);
  std::string checkpoint = folder + "/checkpoint.safetensors";
  Features batch = small.batch(5);
  write_checkpoint(checkpoint, random_checkpoint(model, batch));
  ExportOptions options{
      .model_fn = model,
      .checkpoint = checkpoint,
      .signatures = {
          {"predict", {.inputs = small.signature(), .preparation = R"({"name":"to_float"})"}}}};
  if (free_steps) {
    options.signatures["predict"].inputs = small.of_steps(8).signature();
    options.signatures["predict"].free_steps = small.free_steps;
  }
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

/// A language model that reads several documents in a row, one of rows of several lengths, and one
/// that goes on with a cache of five places.
std::vector<std::pair<std::string, SmallModel>> models_of_positions() {
  SmallFeature token{"token", {{6}, DType::i64}, 0, 9}, one_token{"token", {{1}, DType::i64}, 0, 9};
  const std::string options = R"({"vocabulary": 9, "context": 8, "depth": 1, "width": 8, "heads": 2,
                                 "block": ")";
  return {{"gpt_of_documents",
           {"gpt",
            options + "gpt2\"}",
            {token, {"position", {{6}, DType::i64}, 0, 1}},
            false,
            {"token", "position"}}},
          {"gpt_of_lengths",
           {"gpt",
            options + "llama\", \"kv_heads\": 1}",
            {token, {"length", {{}, DType::i64}, 1, 7}},
            false,
            {"token"}}},
          {"gpt_with_cache",
           {"gpt",
            options + "llama\", \"kv_heads\": 1}",
            {one_token,
             {"position", {{1}, DType::i64}, 0, 5},
             {"length", {{}, DType::i64}, 1, 2},
             {"past_keys0", {{5, 1, 4}, DType::f32}},
             {"past_values0", {{5, 1, 4}, DType::f32}}}}}};
}

}  // namespace

int main(int, char** arguments) try {
  auto write_all = [&](const std::string& name, const SmallModel& small, const ModelFn& model) {
    std::string folder = concat(arguments[1], "/", name);
    with_context(name, [&] {
      write(small, model, folder);
      if (!small.free_steps.empty()) write(small, model, folder + "_of_free_steps", true);
    });
  };
  for (const SmallModel& small : every_model())
    write_all(small.name, small, make(small.name, small.options));
  for (const auto& [name, small] : models_of_positions())
    write_all(name, small, make(small.name, small.options));
  for (const ModelOfOps& ops : models_of_ops())
    write_all(ops.small.name, ops.small, [&](const Scope& s, const Batch& batch, Mode) {
      return EstimatorSpec{.predictions = ops.results(s, batch["x"])};
    });
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
