#include "belfry/models/unet/unet_swin.h"

#include "belfry/models/images/swin.h"
#include "belfry/models/mask_spec.h"

namespace belfry::models {
namespace {

Tensor logits(const Scope& s, Tensor image, const SwinOptions& o, std::int64_t classes) {
  std::vector<Tensor> levels = swin_features(s / "encoder", image, o);
  Tensor x = layer_norm(s / "norm", levels.back());
  for (std::size_t level = levels.size() - 1; level > 0; --level) {
    Scope up = s / concat("up", level);
    const Tensor& skip = levels[level - 1];
    x = expand_patches(up, x, 2, skip.size(-1));
    x = dense(up / "join", concat({x, skip}, -1),
              {.units = skip.size(-1), .kernel_initializer = truncated_normal(0, 0.02)});
    x = swin_blocks(up, x, o.blocks[level - 1], o.heads[level - 1], o);
  }
  x = expand_patches(s / "patches", layer_norm(s / "up_norm", x), o.patch, o.channels);
  return dense(s / "head", x, {.units = classes});
}

}  // namespace

ModelFn unet_swin(UnetSwinOptions o) {
  SwinOptions encoder{.channels = o.channels,
                      .blocks = o.blocks,
                      .heads = o.heads,
                      .window = o.window,
                      .patch = o.patch,
                      .mlp = o.mlp};
  check("unet_swin", encoder);
  MaskOptions masks = mask_options(o);
  check("unet_swin", masks);
  return [=](Scope s, const Batch& batch, Mode mode) {
    return mask_spec(s, logits(s, batch["image"], encoder, o.classes), batch, mode, masks);
  };
}

}  // namespace belfry::models
