#pragma once
// A U-Net of shifted-window transformers (Cao et al., "Swin-Unet: Unet-like pure transformer for
// medical image segmentation", ECCV 2022 workshops).

#include <cstdint>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of unet_swin().
struct UnetSwinOptions {
  /// As in SwinOptions.
  ///@{
  std::int64_t channels = 96;
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};
  std::vector<std::int64_t> heads = {3, 6, 12, 24};
  std::int64_t window = 7;
  std::int64_t patch = 4;
  std::int64_t mlp = 4;
  ///@}
  /// As in UnetOptions.
  ///@{
  std::int64_t classes = 1;
  bool exclusive = false;
  std::vector<double> positive_weight = {1};
  double dice_weight = 1;
  double threshold = 0.5;
  Optimizer optimizer = adamw({.learning_rate = 1e-3, .weight_decay = 0.05});
  ///@}
  BELFRY_FIELDS(channels, blocks, heads, window, patch, mlp, classes, exclusive, positive_weight,
                dice_weight, threshold, optimizer)
};

/// swin_features() down. On the way up pixels are expanded into 2 x 2 with half the channels, a
/// dense layer brings what the way down had on that level together with it, and the same number of
/// blocks follows; at last each pixel becomes a patch again.
///
/// Features, predictions and metrics as unet(). Error: as swin_tiny(), of which the default windows
/// of 7 are for images of 224 x 224 pixels (448, ...): choose 8 for 256 or 512; a mask of another
/// size.
ModelFn unet_swin(UnetSwinOptions options = {});

}  // namespace belfry::models
