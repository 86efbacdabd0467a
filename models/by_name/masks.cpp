#include "belfry/models/by_name/maker.h"
#include "belfry/models/unet/unet.h"
#include "belfry/models/unet/unet_resnest.h"
#include "belfry/models/unet/unet_swin.h"

namespace belfry::models::by_name {

Makers masks() {
  return {{"unet", maker<UnetOptions>(unet)},
          {"unet3d", maker<UnetOptions>(unet3d, {.depth = 3, .filters = 32})},
          {"unet_resnest", maker<UnetResnestOptions>(unet_resnest)},
          {"unet_swin", maker<UnetSwinOptions>(unet_swin)}};
}

}  // namespace belfry::models::by_name
