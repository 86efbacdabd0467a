#include "belfry/framework/optimizers/gradient_edits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

// 16-bit floats would overflow when squared.
DType norm_type(const Gradients& gradients) {
  for (const auto& [variable, gradient, rate] : gradients)
    if (gradient.dtype() == DType::f64) return DType::f64;
  return DType::f32;
}

// min(1, max_norm / norm); NaN where the norm is not finite.
Tensor clipping_factor(Tensor norm, double max_norm) {
  auto number = [&](double x) { return constant(norm.graph(), x, norm.dtype()); };
  double largest = norm.dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                              : std::numeric_limits<float>::max();
  max_norm = std::min(max_norm, largest);  // no finite norm is above it
  Tensor factor = number(max_norm) / maximum(norm, number(max_norm));
  return where(less_equal(norm, number(largest)), factor,
               number(std::numeric_limits<double>::quiet_NaN()));
}

void require_positive(std::string_view what, std::string_view field, double value) {
  require(std::isfinite(value) && value > 0, what, ": ", field, " is ", value,
          "; it must be finite and above 0");
}

Tensor scaled(Tensor gradient, Tensor factor) { return gradient * cast(factor, gradient.dtype()); }

}  // namespace

Tensor global_norm(const Gradients& gradients) {
  require(!gradients.empty(), "global_norm: there are no gradients");
  DType dtype = norm_type(gradients);
  Tensor total;
  for (const auto& [variable, gradient, rate] : gradients) {
    Tensor squares = sum(square(cast(gradient, dtype)));
    total = total.defined() ? total + squares : squares;
  }
  return sqrt(total);
}

ClippedGradients clip_by_global_norm(const Gradients& gradients, double max_norm) {
  require_positive("clip_by_global_norm", "max_norm", max_norm);
  Tensor norm = global_norm(gradients);
  Tensor factor = clipping_factor(norm, max_norm);
  ClippedGradients out{gradients, norm};
  for (auto& [variable, gradient, rate] : out.gradients) gradient = scaled(gradient, factor);
  return out;
}

Gradients clip_by_norm(const Gradients& gradients, double max_norm) {
  require_positive("clip_by_norm", "max_norm", max_norm);
  Gradients out = gradients;
  for (auto& entry : out)
    entry.gradient = scaled(entry.gradient, clipping_factor(global_norm({entry}), max_norm));
  return out;
}

Gradients clip_by_value(const Gradients& gradients, double limit) {
  require_positive("clip_by_value", "limit", limit);
  Gradients out = gradients;
  for (auto& [variable, gradient, rate] : out) gradient = clip(gradient, -limit, limit);
  return out;
}

Gradients add_weight_decay(const Gradients& gradients, const WeightDecayOptions& o) {
  require(std::isfinite(o.rate) && o.rate >= 0, "add_weight_decay: rate is ", o.rate,
          "; it must be finite and at least 0");
  Gradients out = gradients;
  for (auto& [variable, gradient, rate] : out)
    if (gradient.rank() >= o.min_rank) gradient = gradient + variable.value() * o.rate;
  return out;
}

}  // namespace belfry
