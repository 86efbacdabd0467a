#pragma once
// A U-Net whose way down is a ResNeSt.

#include <cstdint>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of unet_resnest().
struct UnetResnestOptions {
  /// As in ResnestOptions.
  ///@{
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};
  std::int64_t filters = 64;
  std::int64_t radix = 2;
  std::int64_t groups = 1;
  ///@}
  std::int64_t decoder_filters = 16;  ///< at the image's size; twice as many with each level down
  double batch_norm_momentum = 0.9;   ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;       ///< see BatchNormLayerOptions::sync
  /// As in UnetOptions.
  ///@{
  std::int64_t classes = 1;
  bool exclusive = false;
  std::vector<double> positive_weight = {1};
  double dice_weight = 1;
  double threshold = 0.5;
  Optimizer optimizer = adam({.learning_rate = 1e-3});
  ///@}
  BELFRY_FIELDS(blocks, filters, radix, groups, decoder_filters, batch_norm_momentum,
                sync_batch_norm, classes, exclusive, positive_weight, dice_weight, threshold,
                optimizer)
};

/// resnest_features() down, and up again as unet() goes; where the image has its full size, nothing
/// stands beside.
///
/// Features, predictions and metrics as unet(). Error: h or w is no multiple of 2^(1 + stages), 32
/// with the defaults; options that resnest50() refuses; a mask of another size.
ModelFn unet_resnest(UnetResnestOptions options = {});

}  // namespace belfry::models
