// What a model makes of given weights and features, to be compared with the same model elsewhere:
// see peers/forward_peers.py.
//
//   model_forward --model resnet50 --options '{"classes": 1000}' --input F
//     prints its variables for such features, one a line: kind, name, sizes
//   model_forward --model resnet50 --options ... --input F --weights F --output F
//     writes its predictions for the features, what softmax or sigmoid made them of, and the random
//     numbers that were drawn; and the weights as a checkpoint, into their folder
//
// Files are safetensors. Models are those of models::make(), and the networks of a DCGAN.

#include <cstdio>
#include <filesystem>

#include "arguments.h"
#include "belfry/framework/framework.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

struct Arguments {
  std::string model, options = "{}", input, weights, output;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  bench::read_options(argc, argv,
                      {{"--model", &out.model},
                       {"--options", &out.options},
                       {"--input", &out.input},
                       {"--weights", &out.weights},
                       {"--output", &out.output}});
  return out;
}

ModelFn model_of(const Arguments& args) {
  gan::DcganOptions colour{.size = 64, .channels = 3};
  if (args.model == "dcgan_generator")
    return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
      return {.predictions = {{"generated", gan::dcgan_generator(colour)(s, batch, mode)}}};
    };
  if (args.model == "dcgan_discriminator")
    return [=](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
      Tensor logits = gan::dcgan_discriminator(colour)(s, batch["image"], batch, mode);
      return {.predictions = {{"logits", logits}}};
    };
  return models::make(args.model, args.options);
}

// The model with more predictions: logits, which say more than the probabilities made of them.
ModelFn opened(ModelFn model) {
  return [=](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = model(s, batch, mode);
    NamedTensors more;
    for (const auto& [name, prediction] : spec.predictions) {
      const Node& maker = prediction.node();
      if (maker.op().name == "softmax" || maker.op().name == "sigmoid")
        more.emplace_back("logits of " + name, maker.input(0));
    }
    for (const auto& node : s.graph())
      if (node->op().name == "random_normal")
        more.emplace_back("normal of " + node->scope(), Tensor(*node));
    spec.predictions.insert(spec.predictions.end(), more.begin(), more.end());
    return spec;
  };
}

Features features_of(const std::string& path) {
  Features out;
  for (const auto& [name, array] : load_safetensors(path).tensors) out.set(name, array);
  return out;
}

void print_variables(const ModelFn& model, const Features& features) {
  Graph graph;
  Batch batch(graph, signature_of(features));
  model(Scope(graph), batch, Mode::predict);
  for (const Node* node : graph.variables()) {
    const auto& variable = node->as<VariableOptions>();
    require(variable.type.dtype == DType::f32, "`", variable.name, "` is ", variable.type);
    std::printf("%s %s", to_string(variable.kind).c_str(), variable.name.c_str());
    for (int axis = 0; axis < variable.type.shape.rank(); ++axis)
      std::printf(" %lld", static_cast<long long>(variable.type.shape[axis]));
    std::printf("\n");
  }
}

struct Once final : InputStream {
  explicit Once(Features features) : batch(std::move(features)) {}
  bool next(Features& out) override {
    if (done) return false;
    out = batch;
    return done = true;
  }
  Features batch;
  bool done = false;
};

void run(const Arguments& args) {
  ModelFn model = opened(model_of(args));
  Features features = features_of(args.input);
  if (args.output.empty()) return print_variables(model, features);
  std::string folder = std::filesystem::path(args.weights).parent_path();
  Checkpoint checkpoint;
  checkpoint.seed = RunConfig().seed;
  checkpoint.variables = load_safetensors(args.weights).tensors;
  save_checkpoint(folder, checkpoint, 0);
  Estimator estimator({.model_fn = model, .model_dir = folder});
  InputFn input = [&]() -> InputStreamPtr { return std::make_unique<Once>(features); };
  NamedArrays results;
  for (const Features& batch : estimator.predict(input, {.single_examples = false}))
    for (const auto& [name, array] : batch) results[name] = array;
  save_safetensors(args.output, results);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(belfry::parse(argc, argv)); });
}
