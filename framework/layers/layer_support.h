#pragma once
// What the layers share. Used by framework/layers alone.

#include <string_view>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/convolutional.h"

namespace belfry::layers {

/// require() that names the layer's place.
template <class... Args>
void require_at(const Scope& s, bool condition, const Args&... args) {
  if (condition) return;
  fail(args..., " (at ", s.path().empty() ? "the root scope" : s.path(), ")");
}

/// Error unless x is floating and has at least `rank` axes, the last not
/// empty.
void require_features(const Scope& s, std::string_view layer, const Tensor& x, int rank);

/// Error unless x is an image [n, h, w, c] of a floating type and the kernel has a size.
void require_image(const Scope& s, std::string_view layer, const Tensor& x, Size2 kernel);
/// As require_image, and filters and groups must go together with the channels of x.
void require_convolution(const Scope& s, std::string_view layer, const Tensor& x, Size2 kernel,
                         std::int64_t groups, std::int64_t filters);

/// x plus the variable `bias` [c] under `s`, c the last axis of x.
Tensor add_bias(const Scope& s, Tensor x, const Initializer& initializer);

/// The scale and offset of a normalising layer, [c] for the last axis of x: variables, or constants
/// where there is no such variable. In f64 for x of f64, else in f32.
struct Affine {
  Tensor scale, offset;
};
Affine affine(const Scope& s, const Tensor& x, bool scale, bool center);

/// The dtype of a layer's parameters: that of its operand, f32 in mixed precision.
inline DType parameter_dtype(const Scope& s, const Tensor& x) {
  return s.graph().mixed_precision() && x.dtype() != DType::f64 ? DType::f32 : x.dtype();
}

/// The dtype of a normalising layer's variables.
inline DType statistics_dtype(const Tensor& x) {
  return x.dtype() == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace belfry::layers
