#pragma once
// The common parts of the layers, those of models/ included.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/layers.h"

namespace belfry::layers {

/// require() that names the layer's place.
template <class... Args>
void require_at(const Scope& s, bool condition, const Args&... args) {
  if (condition) return;
  fail(args..., " (at ", s.path().empty() ? "the root scope" : s.path(), ")");
}

/// The shape of a variable of `s`. Errors are those of Shape and name the place.
inline Shape shape_at(const Scope& s, std::span<const std::int64_t> sizes) {
  return at_scope(s.path(), [&] { return Shape(sizes); });
}
inline Shape shape_at(const Scope& s, std::initializer_list<std::int64_t> sizes) {
  return shape_at(s, std::span(sizes.begin(), sizes.size()));
}

/// Error unless x is floating and has at least `rank` axes, the last not
/// empty.
void require_features(const Scope& s, std::string_view layer, const Tensor& x, int rank);

/// Error unless x is of a floating type and [n, (d,) (h,) w, c], with as many axes between as the
/// kernel's window has, and the window has a size.
void require_image(const Scope& s, std::string_view layer, const Tensor& x,
                   std::span<const std::int64_t> kernel);
/// As require_image, and filters and groups must go together with the channels of x.
void require_convolution(const Scope& s, std::string_view layer, const Tensor& x,
                         std::span<const std::int64_t> kernel, std::int64_t groups,
                         std::int64_t filters);

/// x plus the variable `bias` [c] under `s`, c the last axis of x.
Tensor add_bias(const Scope& s, Tensor x, const Initializer& initializer);

/// The dtype of a layer's parameters: that of its operand, f32 in mixed precision.
inline DType parameter_dtype(const Scope& s, const Tensor& x) {
  return s.graph().mixed_precision() && x.dtype() != DType::f64 ? DType::f32 : x.dtype();
}

/// dense() with `kernel_of(kernel)` in place of the kernel [in, units].
Tensor dense(const Scope& s, Tensor x, const DenseOptions& o,
             const std::function<Tensor(Tensor)>& kernel_of);

enum class Direction : std::uint8_t { forward, transposed };

/// The parts that are alike in all layers that convolve: checks, variables, the bias. The kernel is
/// [window, in / groups, filters], or transposed [window, filters / groups, in]; `convolve(kernel)`
/// applies the op.
template <class Options, class Convolve>
Tensor convolution(const Scope& s, std::string_view layer, const Tensor& x, const Options& o,
                   std::span<const std::int64_t> window, Direction direction, Convolve&& convolve) {
  require_convolution(s, layer, x, window, o.groups, o.filters);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  std::int64_t first = x.size(-1), second = o.filters;
  if (direction == Direction::transposed) std::swap(first, second);
  std::vector<std::int64_t> sizes(window.begin(), window.end());
  sizes.insert(sizes.end(), {first / o.groups, second});
  Tensor kernel = s.variable("kernel", {.shape = shape_at(s, sizes),
                                        .dtype = parameter_dtype(s, x),
                                        .initializer = o.kernel_initializer});
  Tensor y = convolve(kernel);
  return o.use_bias ? add_bias(s, y, o.bias_initializer) : y;
}

/// The scale and offset of a normalising layer, [c] for the last axis of x: variables, or constants
/// where there is no such variable. In f64 for x of f64, else in f32.
struct Affine {
  Tensor scale, offset;
};
Affine affine(const Scope& s, const Tensor& x, bool scale, bool center);

/// The value that the variable will hold after the assignments made so far: a second call with the
/// same variables continues from there, or what the first call assigned would be forgotten.
Tensor pending_value(Variable variable);

/// The dtype of a normalising layer's variables.
inline DType statistics_dtype(const Tensor& x) {
  return x.dtype() == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace belfry::layers
