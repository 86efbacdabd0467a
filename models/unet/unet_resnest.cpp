#include "belfry/models/unet/unet_resnest.h"

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/images/conv_norm.h"
#include "belfry/models/images/resnest.h"
#include "belfry/models/mask_spec.h"
#include "belfry/models/unet/unet_blocks.h"

namespace belfry::models {

ModelFn unet_resnest(UnetResnestOptions o) {
  require_at_least(1, "unet_resnest", "decoder_filters", o.decoder_filters);
  ResnestOptions encoder{.blocks = o.blocks,
                         .filters = o.filters,
                         .radix = o.radix,
                         .groups = o.groups,
                         .batch_norm_momentum = o.batch_norm_momentum,
                         .sync_batch_norm = o.sync_batch_norm};
  check("unet_resnest", encoder);
  MaskOptions masks = mask_options(o);
  check("unet_resnest", masks);
  return [=](Scope s, const Batch& batch, Mode mode) {
    std::vector<Tensor> levels = resnest_features(s / "encoder", batch["image"], encoder, mode);
    UnetBlocks blocks(norm_options(o, mode));
    Tensor x = levels.back();
    for (std::size_t level = levels.size(); level > 0; --level) {
      Tensor skip = level > 1 ? levels[level - 2] : Tensor();
      x = blocks.up(s / concat("up", level), x, skip, o.decoder_filters << (level - 1));
    }
    return mask_spec(s, blocks.head(s / "head", x, o.classes), batch, mode, masks);
  };
}

}  // namespace belfry::models
