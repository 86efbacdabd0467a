#include "belfry/models/by_name/reader.h"
#include "belfry/models/unet/unet.h"
#include "belfry/models/unet/unet_resnest.h"
#include "belfry/models/unet/unet_swin.h"

namespace belfry::models::by_name {
namespace {

template <class Options>
void fields_of_masks(Options& o, Reader& f) {
  f("classes", o.classes)("exclusive", o.exclusive)("positive_weight", o.positive_weight)(
      "dice_weight", o.dice_weight)("threshold", o.threshold)("optimizer", o.optimizer);
}

}  // namespace

void fields(UnetOptions& o, Reader& f) {
  f("depth", o.depth)("filters", o.filters)("batch_norm", o.batch_norm)(
      "batch_norm_momentum", o.batch_norm_momentum)("sync_batch_norm", o.sync_batch_norm)(
      "slot_of_way_up", o.slot_of_way_up);
  fields_of_masks(o, f);
}
void fields(UnetResnestOptions& o, Reader& f) {
  f("blocks", o.blocks)("filters", o.filters)("radix", o.radix)("groups", o.groups)(
      "decoder_filters", o.decoder_filters)("batch_norm_momentum", o.batch_norm_momentum)(
      "sync_batch_norm", o.sync_batch_norm);
  fields_of_masks(o, f);
}
void fields(UnetSwinOptions& o, Reader& f) {
  f("channels", o.channels)("blocks", o.blocks)("heads", o.heads)("window", o.window)(
      "patch", o.patch)("mlp", o.mlp);
  fields_of_masks(o, f);
}

Makers masks() {
  return {{"unet", maker<UnetOptions>(unet)},
          {"unet3d", maker<UnetOptions>(unet3d, {.depth = 3, .filters = 32})},
          {"unet_resnest", maker<UnetResnestOptions>(unet_resnest)},
          {"unet_swin", maker<UnetSwinOptions>(unet_swin)}};
}

}  // namespace belfry::models::by_name
