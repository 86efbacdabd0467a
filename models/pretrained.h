#pragma once
// The names that other programs give to variables of the same models, so that their weights can be
// loaded.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/framework/train/warm_start.h"
#include "belfry/models/sequences/gpt.h"

namespace belfry::models {

/// The names of torchvision, for resnet18(), resnet34() or resnet50() with the large stem, by the
/// number of layers:
///
///   Estimator estimator({.model_fn = models::resnet50(),
///                        .warm_start = WarmStart{.from = "resnet50.safetensors",
///                                                .names = models::torchvision_resnet_names(50)}});
///
/// for a file that safetensors.torch.save_file(model.state_dict(), ...) wrote. Error: another
/// number.
std::map<std::string, std::string> torchvision_resnet_names(int layers);

/// Options of resnest_names().
struct ResnestNamesOptions {
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};  ///< as those of ResnestOptions
  /// The scope of resnest_features() in the model: "encoder" for unet_resnest(). Empty:
  /// resnest50(), whose last layer has names too.
  std::string scope = {};
};
/// The names of the authors' program (github.com/zhanghang1989/ResNeSt, model resnest50), which
/// timm uses as well (resnest50d):
///
///   Estimator estimator({.model_fn = models::unet_resnest(),
///                        .warm_start = WarmStart{.from = "resnest50.safetensors",
///                                                .variables = {"encoder/"},
///                                                .names = models::resnest_names(
///                                                    {.scope = "encoder"})}});
///
/// begins with a trained way down. Error: a stage without blocks.
std::map<std::string, std::string> resnest_names(const ResnestNamesOptions& options = {});

/// How gpt() of these options begins with weights of Hugging Face's `transformers`: of
/// GPT2LMHeadModel for GPT-2's blocks, of LlamaForCausalLM for Llama's.
///
///   models::GptOptions gpt;  // GPT-2's small model
///   Estimator estimator({.model_fn = models::gpt(gpt),
///                        .warm_start = models::hugging_face_weights(gpt, "model.safetensors")});
///
/// `from` is a file, or the index of one in several parts (model.safetensors.index.json). Names may
/// begin with "transformer.", which save_pretrained() writes and the files of GPT-2 itself
/// lack: `prefix`.
///
/// Options must be those of config.json: vocab_size, n_positions (context), n_layer or
/// num_hidden_layers (depth), n_embd or hidden_size (width), n_head or num_attention_heads (heads,
/// which no shape betrays), num_key_value_heads, n_inner or intermediate_size (hidden),
/// layer_norm_epsilon or rms_norm_eps (epsilon), rope_theta (rotary_base), tie_word_embeddings
/// (tied). There is nothing for rope_scaling, for biases of Llama, nor for a head_dim other than
/// width / heads. Error: GPT-2's blocks that are not tied.
WarmStart hugging_face_weights(const GptOptions& model, std::string from, std::string prefix = "");

}  // namespace belfry::models
