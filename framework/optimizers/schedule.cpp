#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {
namespace {

void require_initial(std::string_view schedule, double initial) {
  require(std::isfinite(initial) && initial > 0, schedule, ": initial is ", initial,
          "; it must be finite and above 0");
}

void require_steps(std::string_view schedule, std::string_view field, std::int64_t steps) {
  require(steps >= 1, schedule, ": ", field, " is ", steps, "; it must be at least 1");
}

// The share of the current span that is done, in [0, 1].
Tensor progress(Tensor step, double decay_steps, bool cycle) {
  Tensor one = constant(step.graph(), 1, DType::f64);
  Tensor spans = cast(step, DType::f64) / decay_steps;
  if (!cycle) return minimum(spans, one);
  return spans / maximum(-floor(-spans), one);  // -floor(-x) rounds up
}

// cos(pi x) for x in [0, 1], as sin(z) with z = pi (1/2 - x) by its Taylor series: the first term
// left out, z^23 / 23!, is below 2e-18.
Tensor cos_pi(Tensor x) {
  Tensor z = std::numbers::pi * (0.5 - x);
  Tensor z2 = square(z);
  Tensor sum = constant(x.graph(), 1, DType::f64);
  for (int n = 20; n >= 2; n -= 2) sum = 1 - sum * z2 / (n * (n + 1.0));
  return z * sum;
}

}  // namespace

Schedule::Schedule(double value)
    : function_([value](Tensor step) { return constant(step.graph(), value, DType::f64); }) {
  require(std::isfinite(value) && value >= 0, "schedule: the learning rate is ", value,
          "; it must be finite and at least 0");
}

Tensor Schedule::exact(Tensor step) const {
  require((step.type() == TensorType{{}, DType::i64}), "schedule: the step is ", step.type(),
          "; expected i64[]");
  require(function_, "schedule: the function is empty");
  Tensor value = function_(step);
  require(value.defined(), "schedule: the function gave an undefined tensor");
  require(value.rank() == 0 && is_floating(value.dtype()), "schedule: the function gave ",
          value.type(), "; expected a floating scalar");
  return cast(value, DType::f64);
}

Tensor Schedule::operator()(Tensor step) const { return cast(exact(step), DType::f32); }

Schedule exponential_decay(const ExponentialDecayOptions& o) {
  require_initial("exponential_decay", o.initial);
  require_steps("exponential_decay", "decay_steps", o.decay_steps);
  require(std::isfinite(o.decay_rate) && o.decay_rate > 0, "exponential_decay: decay_rate is ",
          o.decay_rate, "; it must be finite and above 0");
  return [o](Tensor step) {
    Tensor exponent = cast(step, DType::f64) / o.decay_steps;
    if (o.staircase) exponent = floor(exponent);
    return o.initial * pow(constant(step.graph(), o.decay_rate, DType::f64), exponent);
  };
}

Schedule polynomial_decay(const PolynomialDecayOptions& o) {
  require_initial("polynomial_decay", o.initial);
  require_steps("polynomial_decay", "decay_steps", o.decay_steps);
  require(std::isfinite(o.end) && o.end >= 0, "polynomial_decay: end is ", o.end,
          "; it must be finite and at least 0");
  require(std::isfinite(o.power) && o.power > 0, "polynomial_decay: power is ", o.power,
          "; it must be finite and above 0");
  return [o](Tensor step) {
    Tensor left = 1 - progress(step, o.decay_steps, o.cycle);
    if (o.power != 1) left = pow(left, constant(step.graph(), o.power, DType::f64));
    return (o.initial - o.end) * left + o.end;
  };
}

Schedule cosine_decay(const CosineDecayOptions& o) {
  require_initial("cosine_decay", o.initial);
  require_steps("cosine_decay", "decay_steps", o.decay_steps);
  require(o.alpha >= 0 && o.alpha <= 1, "cosine_decay: alpha is ", o.alpha,
          "; it must lie in [0, 1]");
  return [o](Tensor step) {
    Tensor done =
        minimum(cast(step, DType::f64) / o.decay_steps, constant(step.graph(), 1, DType::f64));
    return o.initial * ((1 - o.alpha) / 2 * (1 + cos_pi(done)) + o.alpha);
  };
}

Schedule one_cycle(const OneCycleOptions& o) {
  require(std::isfinite(o.peak) && o.peak > 0, "one_cycle: peak is ", o.peak,
          "; it must be finite and above 0");
  double top = o.rising * o.steps - 1, last = o.steps - 1.0;
  require(top > 0 && top < last, "one_cycle: it rises in ", o.rising, " of ", o.steps,
          " steps; that must be more than one step, and less than all");
  for (double share : {o.start, o.end})
    require(share >= 0 && share <= 1, "one_cycle: start and end are shares of the peak, got ",
            share, "; they must lie in [0, 1]");
  return [=](Tensor step) {
    Tensor now = cast(step, DType::f64), one = constant(step.graph(), 1, DType::f64);
    auto wave = [&](double from, double to, Tensor done) {
      return o.peak * (to + (from - to) / 2 * (1 + cos_pi(done)));
    };
    Tensor falls = greater(now, constant(step.graph(), top, DType::f64));
    return where(falls, wave(1, o.end, minimum((now - top) / (last - top), one)),
                 wave(o.start, 1, minimum(now / top, one)));
  };
}

Schedule range_test(const RangeTestOptions& o) {
  require(std::isfinite(o.from) && std::isfinite(o.to) && o.from > 0 && o.from < o.to,
          "range_test: it goes from ", o.from, " to ", o.to,
          "; the first must be above 0 and below the second");
  require(o.steps >= 2, "range_test: steps is ", o.steps, "; it must be at least 2");
  return [o](Tensor step) {
    Tensor one = constant(step.graph(), 1, DType::f64);
    Tensor done = minimum(cast(step, DType::f64) / (o.steps - 1.0), one);
    return o.from * pow(constant(step.graph(), o.to / o.from, DType::f64), done);
  };
}

Schedule piecewise_constant(const PiecewiseConstantOptions& o) {
  require(o.values.size() == o.boundaries.size() + 1, "piecewise_constant: ", o.boundaries.size(),
          " boundaries need ", o.boundaries.size() + 1, " values, got ", o.values.size());
  auto falls = std::adjacent_find(o.boundaries.begin(), o.boundaries.end(), std::greater_equal<>());
  require(falls == o.boundaries.end(), "piecewise_constant: boundaries [", join(o.boundaries, ", "),
          "] do not increase");
  for (double value : o.values)
    require(std::isfinite(value) && value >= 0, "piecewise_constant: the value ", value,
            " is not a finite number of at least 0");
  return [o](Tensor step) {
    Graph& graph = step.graph();
    Tensor rate = constant(graph, o.values[0], DType::f64);
    for (std::size_t i = 0; i < o.boundaries.size(); ++i) {
      Tensor passed = greater(step, constant(graph, Array::scalar(o.boundaries[i])));
      rate = where(passed, constant(graph, o.values[i + 1], DType::f64), rate);
    }
    return rate;
  };
}

Schedule warmup(Schedule after, const WarmupOptions& o) {
  require_steps("warmup", "steps", o.steps);
  require(std::isfinite(o.from) && o.from >= 0, "warmup: from is ", o.from,
          "; it must be finite and at least 0");
  return [o, after = std::move(after)](Tensor step) {
    auto whole = [&](std::int64_t value) { return constant(step.graph(), Array::scalar(value)); };
    // While it warms up, `after` stands at its first step.
    Tensor target = after.exact(maximum(step - whole(o.steps), whole(0)));
    Tensor done = cast(step, DType::f64) / o.steps;
    return where(less(step, whole(o.steps)), o.from + (target - o.from) * done, target);
  };
}

}  // namespace belfry
