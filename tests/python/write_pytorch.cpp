// Writes nothing. With `back`, begins with the weights that read_pytorch.py has written to
// <folder>, of a ResNet-50 of torchvision and of small models of transformers, and compares logits.

#include <cstdio>

#include "belfry/models/pretrained.h"
#include "warm_logits.h"

using namespace belfry;

void check_language_model(const models::GptOptions& options, const std::string& folder,
                          const std::string& prefix = "") {
  WarmStart weights = models::hugging_face_weights(options, folder + "/model.safetensors", prefix);
  auto [features, theirs] = features_and_logits(folder + "/predictions.safetensors");
  Estimator estimator({.model_fn = models::gpt(options), .warm_start = weights});
  with_context(folder, [&] { check_logits(estimator.predictor()(features).at("logits"), theirs); });
}

int main(int count, char** arguments) try {
  std::string folder = arguments[1];
  if (count <= 2) return 0;
  check_warm_logits("resnet50", folder + "/resnet50.safetensors",
                    folder + "/predictions.safetensors");
  check_language_model({.vocabulary = 101, .context = 32, .depth = 2, .width = 48, .heads = 4},
                       folder + "/gpt2", "transformer.");
  check_language_model({.vocabulary = 101,
                        .depth = 2,
                        .width = 48,
                        .heads = 4,
                        .kv_heads = 2,
                        .hidden = 80,
                        .block = models::GptBlock::llama,
                        .tied = false,
                        .epsilon = 1e-5,
                        .rotary_base = 500'000},
                       folder + "/llama");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
