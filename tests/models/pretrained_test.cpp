#include "belfry/models/pretrained.h"

#include <set>

#include "belfry/models/images/resnest.h"
#include "belfry/models/images/resnet.h"
#include "belfry/models/unet/unet_resnest.h"
#include "models_support.h"

namespace belfry::models {
namespace {

// Each variable of the model has a name there, no two the same, and none is missing: the counts are
// those of torchvision's state_dict() without num_batches_tracked.
TEST(Torchvision, NamesAreThoseOfTheVariables) {
  struct Case {
    int layers;
    ModelFn model;
    std::size_t tensors;
  };
  for (const auto& [layers, model, tensors] :
       {Case{18, resnet18({.classes = 5, .stem = ResnetStem::large}), 102},
        Case{34, resnet34({.classes = 5, .stem = ResnetStem::large}), 182},
        Case{50, resnet50({.classes = 5, .stem = ResnetStem::large}), 267}}) {
    Graph graph;
    model(Scope(graph), Batch(graph, {{"image", {{1, 32, 32, 3}, DType::f32}}}), Mode::predict);
    std::set<std::string> variables, ours, theirs;
    for (const Node* node : graph.variables()) variables.insert(node->as<VariableOptions>().name);
    for (const auto& [name, there] : torchvision_resnet_names(layers)) {
      ours.insert(name);
      theirs.insert(there);
    }
    EXPECT_EQ(ours, variables) << layers;
    EXPECT_EQ(theirs.size(), tensors) << layers;
  }
}

std::set<std::string> variables_of(const ModelFn& model) {
  Graph graph;
  model(Scope(graph), Batch(graph, {{"image", {{1, 32, 32, 3}, DType::f32}}}), Mode::predict);
  std::set<std::string> names;
  for (const Node* node : graph.variables()) names.insert(node->as<VariableOptions>().name);
  return names;
}

TEST(Resnest, NamesAreThoseOfTheVariables) {
  auto names = resnest_names();
  std::set<std::string> ours, theirs;
  for (const auto& [name, there] : names) ours.insert(name), theirs.insert(there);
  EXPECT_EQ(ours, variables_of(resnest50({.classes = 5})));
  // Three pairs of convolution and norm in the stem; 16 blocks of three pairs, two layers with
  // biases and a norm; four shortcuts; the last layer.
  EXPECT_EQ(theirs.size(), 3u * 5 + 16 * (3 * 5 + 2 * 2 + 4) + 4 * 5 + 2);
  EXPECT_EQ(names.at("stem/first/norm/scale"), "conv1.1.weight");
  EXPECT_EQ(names.at("stem/third/norm/offset"), "bn1.bias");
  EXPECT_EQ(names.at("block1/shortcut/conv/kernel"), "layer1.0.downsample.1.weight");
  EXPECT_EQ(names.at("block8/second/norm/moving_mean"), "layer3.0.conv2.bn0.running_mean");
  EXPECT_EQ(names.at("block16/attention/norm/moving_variance"), "layer4.2.conv2.bn1.running_var");
  EXPECT_EQ(names.at("block16/attention/second/bias"), "layer4.2.conv2.fc2.bias");
}

TEST(Resnest, AnEncoderHasThemUnderItsScope) {
  std::set<std::string> ours, encoder;
  for (const auto& [name, there] : resnest_names({.blocks = {1, 2}, .scope = "encoder"}))
    ours.insert(name);
  for (const std::string& name : variables_of(unet_resnest({.blocks = {1, 2}})))
    if (name.starts_with("encoder/")) encoder.insert(name);
  EXPECT_EQ(ours, encoder);
  EXPECT_ANY_THROW(resnest_names({.blocks = {}}));
}

TEST(Torchvision, BlocksAreCountedByStage) {
  auto names = torchvision_resnet_names(50);
  EXPECT_EQ(names.at("stem/norm/moving_variance"), "bn1.running_var");
  EXPECT_EQ(names.at("block4/shortcut/conv/kernel"), "layer2.0.downsample.0.weight");
  EXPECT_EQ(names.at("block13/third/norm/offset"), "layer3.5.bn3.bias");
  EXPECT_EQ(names.at("block16/first/conv/kernel"), "layer4.2.conv1.weight");
  EXPECT_ANY_THROW(torchvision_resnet_names(101));
}

/// The source's names of all variables of a language model, of which none is left over.
std::set<std::string> names_of_language_model(const GptOptions& o, const std::string& prefix = "") {
  Graph graph;
  gpt(o)(Scope(graph), Batch(graph, {{"token", {{1, 2}, DType::i64}}}), Mode::predict);
  std::vector<VariableOptions> variables;
  for (const Node* node : graph.variables()) variables.push_back(node->as<VariableOptions>());
  WarmStart weights = hugging_face_weights(o, "file", prefix);
  weights.strict = false;  // the source is empty
  std::set<std::string> out;
  for (const WarmStartEntry& entry : warm_start_table(weights, {}, variables, 1).entries)
    EXPECT_TRUE(out.insert(entry.source).second) << entry.source;
  return out;
}

// As in transformers 5.24, state_dict() of GPT2LMHeadModel without the tied head, and of
// LlamaForCausalLM.
TEST(HuggingFace, NamesAreThoseOfTransformers) {
  EXPECT_EQ(
      names_of_language_model({.depth = 1}, "transformer."),
      (std::set<std::string>{
          "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight",
          "transformer.h.0.ln_1.bias", "transformer.h.0.attn.c_attn.weight",
          "transformer.h.0.attn.c_attn.bias", "transformer.h.0.attn.c_proj.weight",
          "transformer.h.0.attn.c_proj.bias", "transformer.h.0.ln_2.weight",
          "transformer.h.0.ln_2.bias", "transformer.h.0.mlp.c_fc.weight",
          "transformer.h.0.mlp.c_fc.bias", "transformer.h.0.mlp.c_proj.weight",
          "transformer.h.0.mlp.c_proj.bias", "transformer.ln_f.weight", "transformer.ln_f.bias"}));
  GptOptions llama{.depth = 11, .block = GptBlock::llama, .tied = false};
  std::set<std::string> names = names_of_language_model(llama);
  EXPECT_EQ(names.size(), 11u * 9 + 3);
  for (const char* name :
       {"model.embed_tokens.weight", "model.layers.10.input_layernorm.weight",
        "model.layers.10.self_attn.q_proj.weight", "model.layers.10.self_attn.k_proj.weight",
        "model.layers.10.self_attn.v_proj.weight", "model.layers.10.self_attn.o_proj.weight",
        "model.layers.10.post_attention_layernorm.weight", "model.layers.10.mlp.gate_proj.weight",
        "model.layers.10.mlp.up_proj.weight", "model.layers.10.mlp.down_proj.weight",
        "model.norm.weight", "lm_head.weight"})
    EXPECT_TRUE(names.contains(name)) << name;
  names.erase("lm_head.weight");
  llama.tied = true;
  EXPECT_EQ(names_of_language_model(llama), names);
  EXPECT_ANY_THROW(hugging_face_weights({.tied = false}, "file"));
}

}  // namespace
}  // namespace belfry::models
