#pragma once
// A convolution with batch norm behind it, which the networks for images are made of.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Batch norm as the networks of this folder have it. Options are those of a network.
template <class Options>
BatchNormLayerOptions norm_options(const Options& o, Mode mode) {
  return {.training = mode == Mode::train,
          .momentum = o.batch_norm_momentum,
          .epsilon = 1e-5,
          .sync = o.sync_batch_norm};
}

struct ConvNormOptions {
  std::int64_t filters;  ///< required
  Size2 kernel = 3;      ///< window, in pixels
  Size2 stride = 1;
  std::int64_t groups = 1;
};

/// Rows and columns are added on both sides, as in PyTorch, also with a stride of 2; the norm's
/// offset does the work of a bias. Variables in conv/ and norm/ under the scope.
class ConvNorm {
 public:
  explicit ConvNorm(const BatchNormLayerOptions& norm) : norm_(norm) {}

  Tensor operator()(const Scope& s, Tensor x, const ConvNormOptions& options) const;
  /// One filter a channel.
  Tensor depthwise(const Scope& s, Tensor x, Size2 kernel, Size2 stride) const;

 private:
  BatchNormLayerOptions norm_;
};

}  // namespace belfry::models
