#include "belfry/framework/optimizers/gradient_edits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/random.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

// 16-bit floats would overflow when squared.
DType norm_type(const Gradients& gradients) {
  for (const auto& [variable, gradient, rate] : gradients)
    if (gradient.dtype() == DType::f64) return DType::f64;
  return DType::f32;
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

Gradients clip_adaptive(const Gradients& gradients, const AdaptiveClippingOptions& o) {
  require_positive("clip_adaptive", "limit", o.limit);
  require_positive("clip_adaptive", "epsilon", o.epsilon);
  Gradients out = gradients;
  for (auto& entry : out) {
    DType dtype = norm_type({entry});
    ReduceOptions unit{.axes = axes_of_a_unit(entry.gradient.rank()), .keep_dims = true};
    auto norm = [&](Tensor x) { return sqrt(sum(square(cast(x, dtype)), unit)); };
    Tensor weights = norm(entry.variable);
    Tensor most = maximum(weights, constant(weights.graph(), o.epsilon, dtype)) * o.limit;
    entry.gradient = scaled(entry.gradient, clipping_factor(norm(entry.gradient), most));
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
    DType dtype = norm_type({{variable, gradient}});  // 16 bits might not hold the scale
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
