#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/schedule.h"
#include "belfry/framework/optimizers/schedule_checks.h"

namespace belfry {
namespace {

// The share of the current span that is done, in [0, 1].
Tensor progress(Tensor step, double decay_steps, bool cycle) {
  Tensor one = constant(step.graph(), 1, DType::f64);
  Tensor spans = cast(step, DType::f64) / decay_steps;
  if (!cycle) return minimum(spans, one);
  return spans / maximum(-floor(-spans), one);  // -floor(-x) rounds up
}

}  // namespace

Schedule polynomial_decay(const PolynomialDecayOptions& o) {
  require_initial("polynomial_decay", o.initial);
  require_steps("polynomial_decay", "decay_steps", o.decay_steps);
  require(std::isfinite(o.end) && o.end >= 0, "polynomial_decay: end is ", o.end,
          "; it must be finite and at least 0");
  require(std::isfinite(o.power) && o.power > 0, "polynomial_decay: power is ", o.power,
          "; it must be finite and above 0");
  return [o](Tensor step) {
    Tensor left = 1 - progress(step, static_cast<double>(o.decay_steps), o.cycle);
    if (o.power != 1) left = pow(left, constant(step.graph(), o.power, DType::f64));
    return (o.initial - o.end) * left + o.end;
  };
}

}  // namespace belfry
