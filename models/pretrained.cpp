#include "belfry/models/pretrained.h"

#include <algorithm>
#include <array>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::models {
namespace {

using Names = std::map<std::string, std::string>;

void add_norm(Names& names, const std::string& ours, const std::string& theirs) {
  names[ours + "/scale"] = theirs + ".weight";
  names[ours + "/offset"] = theirs + ".bias";
  names[ours + "/moving_mean"] = theirs + ".running_mean";
  names[ours + "/moving_variance"] = theirs + ".running_var";
}

void add_conv_norm(Names& names, const std::string& ours, const std::string& conv,
                   const std::string& norm) {
  names[ours + "/conv/kernel"] = conv + ".weight";
  add_norm(names, ours + "/norm", norm);
}

void add_layer(Names& names, const std::string& ours, const std::string& theirs) {
  names[ours + "/kernel"] = theirs + ".weight";
  names[ours + "/bias"] = theirs + ".bias";
}

void add_resnest_block(Names& names, const std::string& ours, const std::string& theirs) {
  add_conv_norm(names, ours + "/first", theirs + ".conv1", theirs + ".bn1");
  add_conv_norm(names, ours + "/second", theirs + ".conv2.conv", theirs + ".conv2.bn0");
  add_layer(names, ours + "/attention/first", theirs + ".conv2.fc1");
  add_norm(names, ours + "/attention/norm", theirs + ".conv2.bn1");
  add_layer(names, ours + "/attention/second", theirs + ".conv2.fc2");
  add_conv_norm(names, ours + "/third", theirs + ".conv3", theirs + ".bn3");
}

}  // namespace

std::map<std::string, std::string> torchvision_resnet_names(int layers) {
  require(layers == 18 || layers == 34 || layers == 50,
          "torchvision_resnet_names: expected 18, 34 or 50 layers, got ", layers);
  const std::array<int, 4> blocks = layers == 18 ? std::array{2, 2, 2, 2} : std::array{3, 4, 6, 3};
  const int convolutions = layers == 50 ? 3 : 2;  // in a block
  constexpr std::array<const char*, 3> parts{"first", "second", "third"};
  Names names;
  add_layer(names, "head", "fc");
  add_conv_norm(names, "stem", "conv1", "bn1");
  int number = 0;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      std::string ours = concat("block", ++number), theirs = concat("layer", stage + 1, ".", i);
      for (int c = 0; c < convolutions; ++c)
        add_conv_norm(names, concat(ours, "/", parts[c]), concat(theirs, ".conv", c + 1),
                      concat(theirs, ".bn", c + 1));
      // The first block of a stage changes the shape, but for basic ones in the first stage.
      if (i == 0 && (stage > 0 || layers == 50))
        add_conv_norm(names, ours + "/shortcut", theirs + ".downsample.0",
                      theirs + ".downsample.1");
    }
  return names;
}

std::map<std::string, std::string> resnest_names(const ResnestNamesOptions& o) {
  require(!o.blocks.empty() && std::ranges::min(o.blocks) >= 1,
          "resnest_names: every stage must have a block, got [", join(o.blocks, ", "), "]");
  std::string scope = o.scope.empty() ? "" : o.scope + "/";
  Names names;
  if (scope.empty()) add_layer(names, "head", "fc");
  add_conv_norm(names, scope + "stem/first", "conv1.0", "conv1.1");
  add_conv_norm(names, scope + "stem/second", "conv1.3", "conv1.4");
  add_conv_norm(names, scope + "stem/third", "conv1.6", "bn1");
  int number = 0;
  for (std::size_t stage = 0; stage < o.blocks.size(); ++stage)
    for (std::int64_t i = 0; i < o.blocks[stage]; ++i) {
      std::string ours = concat(scope, "block", ++number),
                  theirs = concat("layer", stage + 1, ".", i);
      add_resnest_block(names, ours, theirs);
      if (i == 0)  // 0 is a pooling
        add_conv_norm(names, ours + "/shortcut", theirs + ".downsample.1",
                      theirs + ".downsample.2");
    }
  return names;
}

WarmStart hugging_face_weights(const GptOptions& model, std::string from, std::string prefix) {
  bool llama = model.block == GptBlock::llama;
  require(llama || model.tied,
          "hugging_face_weights: heads of GPT-2 are tied to the table of tokens; set .tied = true");
  // Its dense layers are [in, out], as convolutions of width 1.
  WarmStart out{.from = std::move(from),
                .layout = llama ? KernelLayout::pytorch : KernelLayout::belfry};
  auto add = [&](const std::string& ours, const std::string& theirs) {
    out.renames.push_back({ours, prefix + theirs});
  };
  const std::string block = "block([0-9]+)/";
  if (llama) {
    const std::string layer = "model.layers.$1.";
    add("embed/table", "model.embed_tokens.weight");
    add(block + "norm1/scale", layer + "input_layernorm.weight");
    add(block + "norm2/scale", layer + "post_attention_layernorm.weight");
    for (const auto& [ours, theirs] : {std::pair("query", "q"), std::pair("key", "k"),
                                       std::pair("value", "v"), std::pair("output", "o")})
      add(block + "attention/" + ours + "/kernel", layer + "self_attn." + theirs + "_proj.weight");
    add(block + "mlp/(gate|up|down)/kernel", layer + "mlp.$2_proj.weight");
    add("norm/scale", "model.norm.weight");
    if (!model.tied) add("head/kernel", "lm_head.weight");
    return out;
  }
  const std::string layer = "h.$1.";
  add("embed/table", "wte.weight");
  add("positions", "wpe.weight");
  for (const auto& [ours, theirs] : {std::pair("scale", "weight"), std::pair("offset", "bias")}) {
    add(block + "norm([12])/" + ours, layer + "ln_$2." + theirs);
    add(std::string("norm/") + ours, std::string("ln_f.") + theirs);
  }
  for (const auto& [ours, theirs] : {std::pair("kernel", "weight"), std::pair("bias", "bias")}) {
    add(block + "attention/qkv/" + ours, layer + "attn.c_attn." + theirs);
    add(block + "attention/output/" + ours, layer + "attn.c_proj." + theirs);
    add(block + "mlp/up/" + ours, layer + "mlp.c_fc." + theirs);
    add(block + "mlp/down/" + ours, layer + "mlp.c_proj." + theirs);
  }
  return out;
}

}  // namespace belfry::models
