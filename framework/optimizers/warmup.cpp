#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/schedule.h"
#include "belfry/framework/optimizers/schedule_checks.h"

namespace belfry {

Schedule warmup(Schedule after, const WarmupOptions& o) {
  require_steps("warmup", "steps", o.steps);
  require(std::isfinite(o.from) && o.from >= 0, "warmup: from is ", o.from,
          "; it must be finite and at least 0");
  return [o, after = std::move(after)](Tensor step) {
    auto whole = [&](std::int64_t value) { return constant(step.graph(), Array::scalar(value)); };
    // While it warms up, `after` stands at its first step.
    Tensor target = after.exact(maximum(step - whole(o.steps), whole(0)));
    Tensor done = cast(step, DType::f64) / static_cast<double>(o.steps);
    return where(less(step, whole(o.steps)), o.from + (target - o.from) * done, target);
  };
}

}  // namespace belfry
