#pragma once
// Transformers for images with windows that move (Liu et al., "Swin Transformer: Hierarchical
// vision transformer using shifted windows", ICCV 2021).

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of swin_tiny(); swin_features() reads those of the encoder.
struct SwinOptions {
  std::int64_t classes = 1000;                       ///< at least 2
  std::int64_t channels = 96;                        ///< of the first stage; doubled with each
  std::vector<std::int64_t> blocks = {2, 2, 6, 2};   ///< of each stage
  std::vector<std::int64_t> heads = {3, 6, 12, 24};  ///< of each stage; must divide its channels
  std::int64_t window = 7;  ///< pixels a side of what attends to each other
  std::int64_t patch = 4;   ///< pixels a side of what becomes one pixel of the first stage
  std::int64_t mlp = 4;     ///< times as many units in the hidden layer behind an attention
  /// For all variables.
  Optimizer optimizer = adamw({.learning_rate = 1e-3, .weight_decay = 0.05});
  BELFRY_FIELDS(classes, channels, blocks, heads, window, patch, mlp, optimizer)
};

/// Patches of the image become vectors; stages of blocks, each attention within windows and a
/// hidden layer, both behind layer norm and beside a shortcut. The windows of every other block are
/// moved by half their size. Between stages 2 x 2 pixels are merged into one. A stage of at most
/// one window's size is one window, not moved. There is no stochastic depth. With the defaults the
/// Swin-T of the paper, for images of 224 x 224 pixels: 28,288,354 parameters. Sides fit that are
/// multiples of patch * 2^(stages - 1) * window, and those with other windows: 8 for 256 or 512.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, h, w, c], "label" i64 [n]. Error:
/// not as many heads as stages; sides that patches, merging or windows do not divide, with sides
/// and a window that fit.
ModelFn swin_tiny(SwinOptions options = {});

/// Error of `function`, whose options they are, unless those of the encoder are in range; `classes`
/// is not looked at.
void check(std::string_view function, const SwinOptions& options);

/// The features that its encoder finds after each stage, before merging: [n, h / patch, w / patch,
/// channels], then of half the size with twice the channels, and so on. Error: as above.
std::vector<Tensor> swin_features(const Scope& s, Tensor image, const SwinOptions& options);

/// The blocks of a stage, x [n, h, w, c] -> as x, under s/block1, s/block2, ... The number of
/// blocks, `mlp` and `window` are those of SwinOptions.
Tensor swin_blocks(const Scope& s, Tensor x, std::int64_t blocks, std::int64_t heads,
                   const SwinOptions& options);

/// [n, h, w, c] -> [n, h / 2, w / 2, 2 c]: the vectors of 2 x 2 pixels, one after the other (down
/// before right), layer norm, and a dense layer without bias. Error: h or w is odd.
Tensor merge_patches(const Scope& s, Tensor x);

/// The way back (Cao et al., "Swin-Unet", ECCV 2022 workshops, section 3.5): [n, h, w, c] ->
/// [n, h factor, w factor, channels] by a dense layer without bias, whose units are factor x factor
/// pixels row by row, and layer norm.
Tensor expand_patches(const Scope& s, Tensor x, std::int64_t factor, std::int64_t channels);

}  // namespace belfry::models
