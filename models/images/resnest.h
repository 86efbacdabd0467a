#pragma once
// Residual networks with split attention (Zhang et al., "ResNeSt: Split-attention networks", 2020).

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of resnest50(); resnest_features() reads those of the encoder.
struct ResnestOptions {
  std::int64_t classes = 1000;                      ///< at least 2
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};  ///< of each stage
  /// The filters of the first stage; twice as many with each stage, and four times as many at the
  /// end of a block. Even, and a multiple of radix * groups.
  std::int64_t filters = 64;
  std::int64_t radix = 2;   ///< splits that attention weighs, at least 2
  std::int64_t groups = 1;  ///< that each split's convolution and attention are divided into
  double batch_norm_momentum = 0.9;  ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;      ///< see BatchNormLayerOptions::sync
  /// For all variables.
  Optimizer optimizer = momentum({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
  BELFRY_FIELDS(classes, blocks, filters, radix, groups, batch_norm_momentum, sync_batch_norm,
                optimizer)
};

/// Bottleneck blocks whose 3 x 3 convolution gives `radix` times as many channels; per channel, a
/// softmax over the splits, computed from what global pooling finds in their sum, says how much of
/// each goes on. A stride is a 3 x 3 average pooling behind the convolution, and a 2 x 2 one in the
/// shortcut; the stem has three 3 x 3 convolutions. With the defaults the ResNeSt-50 of the paper
/// (2s1x64d): 27,483,240 parameters.
///
/// Features, predictions and metric as lenet(): "image" f32 [n, h, w, c], "label" i64 [n]. Error:
/// a stage without blocks, options outside their ranges; h or w is no multiple of 2^(1 + stages).
ModelFn resnest50(ResnestOptions options = {});

/// Error of `function`, whose options they are, unless those of the encoder are in range; `classes`
/// is not looked at.
void check(std::string_view function, const ResnestOptions& options);

/// The features that its encoder finds at each size: after the stem, of 1/2 of the image's size,
/// with `filters` channels, and after each stage, of 1/4, 1/8, ... with 4, 8, ... times as many.
/// Error: as above.
std::vector<Tensor> resnest_features(const Scope& s, Tensor image, const ResnestOptions& options,
                                     Mode mode);

/// Options of split_attention().
struct SplitAttentionOptions {
  std::int64_t radix = 2;   ///< splits that x consists of
  std::int64_t groups = 1;  ///< as those of ResnestOptions
  /// Between the dense layers.
  BatchNormLayerOptions norm = {.training = false, .momentum = 0.9, .epsilon = 1e-5};
};
/// Split attention by itself: x [n, h, w, radix * c], split by split, to [n, h, w, c]. It is their
/// section 3 in the form of equation 2 and figure 3: the splits' sum, pooled, through two dense
/// layers (per group) with max(c * radix / 4, 32) units between them.
Tensor split_attention(const Scope& s, Tensor x, const SplitAttentionOptions& options);

}  // namespace belfry::models
