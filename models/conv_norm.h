#pragma once
// A convolution with batch norm behind it, which the networks for images are made of.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

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
  /// `momentum`: share of the moving statistics that a step keeps.
  ConvNorm(Mode mode, double momentum) : training_(mode == Mode::train), momentum_(momentum) {}

  Tensor operator()(const Scope& s, Tensor x, const ConvNormOptions& options) const;
  /// One filter a channel.
  Tensor depthwise(const Scope& s, Tensor x, Size2 kernel, Size2 stride) const;
  Tensor norm(const Scope& s, Tensor x) const;

 private:
  bool training_;
  double momentum_;
};

}  // namespace belfry::models
