#include "belfry/models/gan/spectral.h"

#include <cmath>

#include "belfry/framework/layers/layer_support.h"

namespace belfry::gan {
namespace {

// Sums of products, not matmul(): those would be in 16 bits where the precision is mixed.
Tensor times(Tensor w, Tensor u) { return sum(w * u, {.axes = {1}, .keep_dims = true}); }
Tensor transposed_times(Tensor w, Tensor v) { return sum(w * v, {.axes = {0}, .keep_dims = true}); }

// The unit vector of x, from x and epsilon in units of the largest element, whose square might
// overflow.
Tensor unit(Tensor x, double epsilon) {
  auto number = [&](double value) { return constant(x.graph(), value, x.dtype()); };
  Tensor largest = maximum(max(abs(x)), number(1));
  x = x / largest;
  return x * rsqrt(maximum(sum(square(x)), number(epsilon) / largest / largest));
}

}  // namespace

Tensor spectral_norm(const Scope& s, Tensor kernel, const SpectralNormOptions& o) {
  layers::require_at(s, o.iterations >= 1, "spectral_norm: iterations must be at least 1, got ",
                     o.iterations);
  layers::require_at(s, o.epsilon > 0, "spectral_norm: epsilon must be above 0, got ", o.epsilon);
  layers::require_at(s, kernel.rank() >= 2, "spectral_norm: the kernel must have at least 2 axes, ",
                     "got ", kernel.type());
  Graph::PlacementGuard guard(s.graph(), s.placement());
  std::int64_t out = kernel.size(-1);
  DType dtype = layers::statistics_dtype(kernel);
  Variable kept = s.variable(
      "u",
      {.shape = {out}, .dtype = dtype, .initializer = normal(), .kind = VariableKind::statistic});
  Tensor w = cast(reshape(kernel, {-1, out}), dtype), constant_w = stop_gradient(w);
  Tensor u = reshape(kept, {1, out}), v;
  for (int i = 0; i < o.iterations; ++i) {
    v = unit(times(constant_w, u), o.epsilon);             // [rows, 1]
    u = unit(transposed_times(constant_w, v), o.epsilon);  // [1, out]
  }
  Tensor sigma = sum(transposed_times(w, v) * u);
  Tensor least = constant(s.graph(), std::sqrt(o.epsilon), dtype);
  // A second use of the kernel has found the same. Of a kernel of zeros nothing can be found, and a
  // u of zeros would stay so.
  if (o.training && layers::pending_value(kept) == kept.value())
    assign(kept, where(greater(sigma, least), reshape(u, {out}), kept.value()));
  return cast(cast(kernel, dtype) / maximum(sigma, least), kernel.dtype());
}

Tensor spectral_conv2d(const Scope& s, Tensor x, Conv2dLayerOptions o,
                       const SpectralNormOptions& options) {
  return layers::convolution(
      s, "spectral_conv2d", x, o, o.kernel.array(), layers::Direction::forward,
      [&](const Tensor& kernel) {
        return conv2d(
            x, spectral_norm(s, kernel, options),
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

Tensor spectral_dense(const Scope& s, Tensor x, DenseOptions o,
                      const SpectralNormOptions& options) {
  return layers::dense(s, x, o, [&](Tensor kernel) { return spectral_norm(s, kernel, options); });
}

}  // namespace belfry::gan
