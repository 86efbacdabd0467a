#pragma once
// Networks that mark what each pixel or voxel shows (Ronneberger et al., "U-Net", MICCAI 2015;
// Cicek et al., "3D U-Net", MICCAI 2016).

#include <cstdint>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of unet() and unet3d().
struct UnetOptions {
  int depth = 4;                     ///< times the image is halved, and doubled again
  std::int64_t filters = 64;         ///< of the first level; twice as many with each level down
  bool batch_norm = true;            ///< behind each convolution
  double batch_norm_momentum = 0.9;  ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;      ///< see BatchNormLayerOptions::sync
  std::int64_t classes = 1;          ///< that are marked: channels of the mask
  bool exclusive = false;  ///< each pixel is of exactly one class; then there are at least 2
  /// The weight of what is set, in the cross-entropy: one number for all classes, or one for each.
  std::vector<double> positive_weight = {1};
  double dice_weight = 1;  ///< the loss is cross-entropy + dice_weight * dice_loss()
  double threshold = 0.5;  ///< of probabilities, for the prediction "mask" and the metrics
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  int slot_of_way_up = 0;  ///< a device of the tower; the way down and the bottom are on device 0
  BELFRY_FIELDS(depth, filters, batch_norm, batch_norm_momentum, sync_batch_norm, slot_of_way_up,
                classes, exclusive, positive_weight, dice_weight, threshold, optimizer)
};

/// Two 3 x 3 convolutions on each level, with ReLU; down by 2 x 2 max pooling, up by a transposed
/// 2 x 2 convolution, whose result stands beside what the way down had on that level. Borders are
/// padded, so that the mask is as large as the image. Without batch norm, with the defaults and one
/// channel, 31,030,593 parameters.
///
/// Features: "image" floating [n, h, w, c], and, not in predict mode, "mask": floating [n, h, w,
/// classes] in [0, 1], or with exclusive classes integers [n, h, w] or [n, h, w, 1] in
/// 0..classes-1. The loss is sigmoid cross-entropy with positive_weight, or softmax cross-entropy,
/// plus Dice by class. Predictions: "probability" [n, h, w, classes] and "mask", bool of that shape
/// or the likeliest class, i64 [n, h, w]. Metrics: "mean_iou"; "dice" of what is set and
/// "background_dice" of the rest, or "accuracy"; with several classes "dice/0", "dice/1", ... of
/// each. More on them is at mask_spec() in mask_spec.h. Error: h or w is no multiple of 2^depth; a
/// mask of another size or type; in a step, one out of range.
ModelFn unet(UnetOptions options = {});

/// The same for volumes [n, d, h, w, c], with 3 x 3 x 3 convolutions.
ModelFn unet3d(UnetOptions options = {.depth = 3, .filters = 32});

}  // namespace belfry::models
