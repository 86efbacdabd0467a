#pragma once
// Residual networks (He et al., "Deep residual learning for image recognition", CVPR 2016).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The layers in front of the blocks.
enum class ResnetStem : std::uint8_t {
  by_size,  ///< small for images of fewer than 64 rows, else large
  small,    ///< a 3 x 3 convolution (their section 4.2): for images of about 32 x 32 pixels
  large,    ///< 7 x 7 with stride 2 and 3 x 3 max pooling (table 1): for about 224 x 224
};
constexpr auto names_of(ResnetStem) { return name_list("by_size", "small", "large"); }

/// Options of resnet18(), resnet34() and resnet50().
struct ResnetOptions {
  std::int64_t classes = 10;              ///< at least 2
  ResnetStem stem = ResnetStem::by_size;  ///< in front of the blocks
  double batch_norm_momentum = 0.9;       ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;           ///< see BatchNormLayerOptions::sync
  /// For all variables.
  Optimizer optimizer = momentum({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 5e-4});
  BELFRY_FIELDS(classes, stem, batch_norm_momentum, sync_batch_norm, optimizer)
};

/// Stages of 64, 128, 256 and 512 filters, of 2, 2, 2 and 2 basic blocks (18) or 3, 4, 6 and 3
/// (34). A shortcut is the identity, or a 1 x 1 convolution where the shape changes. 11,689,512 and
/// 21,797,672 parameters with the large stem and 1000 classes.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, h, w, 3], "label" i64 [n].
///@{
ModelFn resnet18(ResnetOptions options = {});
ModelFn resnet34(ResnetOptions options = {});
///@}

/// As resnet34(), of bottleneck blocks with four times as many filters at their end. Strides are in
/// the 3 x 3 convolutions, as in most programs since ("v1.5"), not in the 1 x 1 before it as in the
/// paper. 25,557,032 parameters for 1000 classes.
ModelFn resnet50(ResnetOptions options = {.classes = 1000});

}  // namespace belfry::models
