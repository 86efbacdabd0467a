#pragma once
// What U-Nets are made of.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The blocks for images [n, h, w, c] and for volumes [n, d, h, w, c], whichever x is.
class UnetBlocks {
 public:
  /// `momentum`: share of the moving statistics that a step keeps.
  UnetBlocks(Mode mode, bool batch_norm, double momentum)
      : training_(mode == Mode::train), batch_norm_(batch_norm), momentum_(momentum) {}

  /// Two convolutions of 3 pixels along each axis, each with ReLU and perhaps batch norm.
  Tensor twice(const Scope& s, Tensor x, std::int64_t filters) const;
  /// Half as large: the maximum of 2 pixels along each axis.
  Tensor down(Tensor x) const;
  /// Twice as large by a transposed convolution, beside `skip` unless that is undefined, and
  /// twice().
  Tensor up(const Scope& s, Tensor x, Tensor skip, std::int64_t filters) const;
  /// One logit a pixel.
  Tensor head(const Scope& s, Tensor x) const;

 private:
  bool training_, batch_norm_;
  double momentum_;
};

}  // namespace belfry::models
