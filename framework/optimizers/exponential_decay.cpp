#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/schedule.h"
#include "belfry/framework/optimizers/schedule_checks.h"

namespace belfry {

Schedule exponential_decay(const ExponentialDecayOptions& o) {
  require_initial("exponential_decay", o.initial);
  require_steps("exponential_decay", "decay_steps", o.decay_steps);
  require(std::isfinite(o.decay_rate) && o.decay_rate > 0, "exponential_decay: decay_rate is ",
          o.decay_rate, "; it must be finite and above 0");
  return [o](Tensor step) {
    Tensor exponent = cast(step, DType::f64) / static_cast<double>(o.decay_steps);
    if (o.staircase) exponent = floor(exponent);
    return o.initial * pow(constant(step.graph(), o.decay_rate, DType::f64), exponent);
  };
}

}  // namespace belfry
