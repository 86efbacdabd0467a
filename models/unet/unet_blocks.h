#pragma once
// The parts that U-Nets are made of.

#include <cstdint>
#include <optional>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The blocks for images [n, h, w, c] and for volumes [n, d, h, w, c], whichever x is.
class UnetBlocks {
 public:
  /// Without `norm` there is no batch norm.
  explicit UnetBlocks(std::optional<BatchNormLayerOptions> norm) : norm_(norm) {}

  /// Two convolutions of 3 pixels along each axis, each with ReLU and perhaps batch norm.
  Tensor twice(const Scope& s, Tensor x, std::int64_t filters) const;
  /// Half as large: the maximum of 2 pixels along each axis.
  Tensor down(Tensor x) const;
  /// Twice as large by a transposed convolution, beside `skip` unless that is undefined, and
  /// twice().
  Tensor up(const Scope& s, Tensor x, Tensor skip, std::int64_t filters) const;
  /// The logits of each pixel.
  Tensor head(const Scope& s, Tensor x, std::int64_t classes) const;

 private:
  std::optional<BatchNormLayerOptions> norm_;
};

}  // namespace belfry::models
