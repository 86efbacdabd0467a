#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/random/random.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

// 16-bit floats would overflow when squared.
DType norm_type(std::span<const Tensor> tensors) {
  for (const Tensor& t : tensors)
    if (t.dtype() == DType::f64) return DType::f64;
  return DType::f32;
}

// The factor that numbers are multiplied by before they are squared; `largest` is the largest of
// them. The squares of f32 would overflow from 2^64 on. Powers of two round nothing.
Tensor scale_for_squares(Tensor largest) {
  auto number = [&](double x) { return constant(largest.graph(), x, largest.dtype()); };
  double large = largest.dtype() == DType::f64 ? 0x1p400 : 0x1p40;
  Tensor of_small = where(less(largest, number(1 / large)), number(large * large), number(1));
  return where(greater(largest, number(large)), number(1 / (large * large)), of_small);
}

// The root of the sum of all squares over the axes.
Tensor norm(std::span<const Tensor> tensors, const ReduceOptions& over = {}) {
  DType dtype = norm_type(tensors);
  Tensor largest, total;
  for (const Tensor& t : tensors) {
    Tensor own = max(abs(cast(t, dtype)), over);
    largest = largest.defined() ? maximum(largest, own) : own;
  }
  Tensor scale = scale_for_squares(largest);
  for (const Tensor& t : tensors) {
    Tensor squares = sum(square(cast(t, dtype) * scale), over);
    total = total.defined() ? total + squares : squares;
  }
  return sqrt(total) / scale;
}

double largest(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::max()
                             : std::numeric_limits<float>::max();
}

// min(1, max_norm / norm) for norms above 0; NaN where the norm is not finite.
Tensor clipping_factor(Tensor norm, Tensor max_norm) {
  auto number = [&](double x) { return constant(norm.graph(), x, norm.dtype()); };
  return where(less_equal(norm, number(largest(norm.dtype()))), max_norm / maximum(norm, max_norm),
               number(std::numeric_limits<double>::quiet_NaN()));
}

Tensor clipping_factor(Tensor norm, double max_norm) {
  max_norm = std::min(max_norm, largest(norm.dtype()));  // no finite norm is above it
  return clipping_factor(norm, constant(norm.graph(), max_norm, norm.dtype()));
}

void require_positive(std::string_view what, std::string_view field, double value) {
  require(std::isfinite(value) && value > 0, what, ": ", field, " is ", value,
          "; it must be finite and above 0");
}

// All but the last; all of those that have no other.
std::vector<int> axes_of_a_unit(int rank) {
  std::vector<int> axes;
  for (int axis = 0; axis < std::max(rank - 1, std::min(rank, 1)); ++axis) axes.push_back(axis);
  return axes;
}

Tensor scaled(Tensor gradient, Tensor factor) { return gradient * cast(factor, gradient.dtype()); }

}  // namespace

Tensor l2_norm(std::span<const Tensor> tensors) {
  require(!tensors.empty(), "l2_norm: there are no tensors");
  return norm(tensors);
}

Tensor global_norm(const Gradients& gradients) {
  require(!gradients.empty(), "global_norm: there are no gradients");
  std::vector<Tensor> tensors;
  for (const auto& [variable, gradient, rate] : gradients) tensors.push_back(gradient);
  return l2_norm(tensors);
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

Gradients clip_adaptive(const Gradients& gradients, const AdaptiveClippingOptions& o) {
  require_positive("clip_adaptive", "limit", o.limit);
  require_positive("clip_adaptive", "epsilon", o.epsilon);
  Gradients out = gradients;
  for (auto& entry : out) {
    ReduceOptions unit{.axes = axes_of_a_unit(entry.gradient.rank()), .keep_dims = true};
    Tensor own = norm(std::array{entry.gradient}, unit);
    Tensor weights = cast(norm(std::array{entry.variable.value()}, unit), own.dtype());
    Tensor most = maximum(weights, constant(own.graph(), o.epsilon, own.dtype())) * o.limit;
    entry.gradient = scaled(entry.gradient, clipping_factor(own, most));
  }
  return out;
}

Gradients centralize(const Gradients& gradients) {
  Gradients out = gradients;
  for (auto& [variable, gradient, rate] : out) {
    if (gradient.rank() < 2) continue;
    ReduceOptions unit{.axes = axes_of_a_unit(gradient.rank()), .keep_dims = true};
    gradient = gradient - mean(gradient, unit);
  }
  return out;
}

Gradients add_gradient_noise(const Gradients& gradients, const GradientNoiseOptions& o) {
  require_positive("add_gradient_noise", "eta", o.eta);
  require(std::isfinite(o.gamma) && o.gamma >= 0, "add_gradient_noise: gamma is ", o.gamma,
          "; it must be finite and at least 0");
  if (gradients.empty()) return {};
  Graph& graph = gradients[0].gradient.graph();
  Tensor t = 1 + cast(global_step(graph), DType::f64);
  Tensor deviation = std::sqrt(o.eta) * pow(t, constant(graph, -o.gamma / 2, DType::f64));
  // Without the third number, the tower's first row: its gradients are the average of all towers'.
  Tensor shared = constant(graph, Array::of({std::int64_t{1}, std::int64_t{1}, std::int64_t{0}}));
  Tensor state = random_state(graph) * shared;
  Gradients out = gradients;
  for (auto& [variable, gradient, rate] : out) {
    RandomOptions noise{gradient.type(), philox_key(0, variable.name() + "/gradient_noise").value};
    gradient = gradient + scaled(apply1(random_normal_op, {state}, noise), deviation);
  }
  return out;
}

Gradients unscale(const Gradients& gradients, double scale) {
  require_positive("unscale", "scale", scale);
  Gradients out = gradients;
  for (auto& [variable, gradient, rate] : out) {
    DType dtype = norm_type(std::array{gradient});  // 16 bits might not hold the scale
    gradient = cast(cast(gradient, dtype) / scale, gradient.dtype());
  }
  return out;
}

Tensor all_finite(const Gradients& gradients) {
  require(!gradients.empty(), "all_finite: there are no gradients");
  Tensor total;  // 0 * x is NaN where x is not finite, else 0
  for (const auto& [variable, gradient, rate] : gradients) {
    Tensor zero = cast(sum(gradient * 0), DType::f32);
    total = total.defined() ? total + zero : zero;
  }
  return equal(total, constant(total.graph(), 0, DType::f32));
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
