#pragma once
// Networks that mark what each pixel or voxel shows (Ronneberger et al., "U-Net", MICCAI 2015;
// Cicek et al., "3D U-Net", MICCAI 2016).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct UnetOptions {
  int depth = 4;                     ///< times the image is halved, and doubled again
  std::int64_t filters = 64;         ///< of the first level; twice as many with each level down
  bool batch_norm = true;            ///< behind each convolution
  double batch_norm_momentum = 0.9;  ///< share of the moving statistics that a step keeps
  double positive_weight = 1;        ///< of what is set, in the cross-entropy
  double dice_weight = 1;            ///< the loss is cross-entropy + dice_weight * dice_loss()
  double threshold = 0.5;  ///< of probabilities, for the prediction "mask" and the metrics
  Optimizer optimizer = adam({.learning_rate = 1e-3});
  int slot_of_way_up = 0;  ///< device slot; the way down and the bottom are on slot 0
};

/// Two 3 x 3 convolutions on each level, with ReLU; down by 2 x 2 max pooling, up by a transposed
/// 2 x 2 convolution, whose result stands beside what the way down had on that level. Borders are
/// padded, so that the mask is as large as the image. Without batch norm, with the defaults and one
/// channel, 31,030,593 parameters.
///
/// Features: "image" floating [n, h, w, c], and "mask" floating [n, h, w, 1] in [0, 1] (not in
/// predict mode). Predictions: "probability" and "mask" (bool), [n, h, w, 1]; metrics: "dice" of
/// what is set and "background_dice" of the rest. Error: h or w is no multiple of 2^depth; a mask
/// of another size.
ModelFn unet(UnetOptions options = {});

/// The same for volumes [n, d, h, w, c], with 3 x 3 x 3 convolutions.
ModelFn unet3d(UnetOptions options = {.depth = 3, .filters = 32});

}  // namespace belfry::models
