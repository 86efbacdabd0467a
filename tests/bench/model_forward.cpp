// The predictions of a model for given weights and features, to be compared with the same model
// elsewhere: see peers/forward_peers.py.
//
//   model_forward --model resnet50 --options '{"classes": 1000}' --input F
//     prints its variables for such features, one a line: kind, name, sizes
//   model_forward --model resnet50 --options ... --input F --weights F --output F
//     writes its predictions for the features, the logits behind softmax or sigmoid, and the
//     random numbers that were drawn; and the weights as a checkpoint, into their folder
//
// Files are safetensors. Models are those of models::make(); the GANs of gan_with(), with both
// networks and the options that these have by default; and patch_discriminator.

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "arguments.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/models/models.h"
#include "one_batch.h"

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

using Capture = std::function<NamedMetrics(const gan::GanModel&, const Batch&)>;

// A GAN with `capture` among its metrics; null where there is none of that name.
ModelFn gan_with(const std::string& name, Capture capture) {
  using Make = std::function<gan::GanOptions()>;
  static const std::map<std::string, Make> makers{
      {"dcgan32", [] { return gan::dcgan(); }},
      {"dcgan64", [] { return gan::dcgan({.size = 64, .channels = 3}); }},
      {"cgan", [] { return gan::conditional_gan(); }},
      {"wgan_gp", [] { return gan::wgan_gp(); }}};
  if (name == "acgan") return gan::acgan({.gan = {.metrics = capture}});
  if (name == "infogan") return gan::infogan({.gan = {.metrics = capture}});
  auto found = makers.find(name);
  if (found == makers.end()) return {};
  gan::GanOptions options = found->second();
  options.metrics = std::move(capture);
  return gan::gan(options);
}

// Both networks of a GAN: built as for evaluate(), as predict() has the generator alone.
EstimatorSpec networks_of(const std::string& name, const Scope& s, const Batch& batch) {
  EstimatorSpec out;
  Capture capture = [&](const gan::GanModel& m, const Batch&) -> NamedMetrics {
    out.predictions = {{"generated", m.generated},
                       {"logits of real", m.real_logits},
                       {"logits of generated", m.generated_logits}};
    return {};
  };
  gan_with(name, capture)(s, batch, Mode::evaluate);
  return out;
}

ModelFn model_of(const Arguments& args) {
  if (args.model == "patch_discriminator")
    return [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
      Tensor logits = gan::patch_discriminator()(s, batch["image"], batch, mode);
      return {.predictions = {{"logits", logits}}};
    };
  if (gan_with(args.model, {}))
    return [name = args.model](Scope s, const Batch& batch, Mode) {
      return networks_of(name, s, batch);
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
      if (node->op().name == "random_normal" || node->op().name == "random_uniform")
        more.emplace_back("drawn in " + node->scope(), Tensor(*node));
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

void run(const Arguments& args) {
  ModelFn model = opened(model_of(args));
  Features features = features_of(args.input);
  if (args.output.empty()) return print_variables(model, features);
  std::string folder = std::filesystem::path(args.weights).parent_path();
  Checkpoint checkpoint;
  checkpoint.seed = RunConfig().seed;
  checkpoint.variables = load_safetensors(args.weights).tensors;
  save_checkpoint(folder, checkpoint, {.newest = 0});
  Estimator estimator({.model_fn = model, .model_dir = folder});
  save_safetensors(args.output, bench::predict_batch(estimator, features));
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(belfry::parse(argc, argv)); });
}
