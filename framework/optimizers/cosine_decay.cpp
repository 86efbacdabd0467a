#include <numbers>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/schedule.h"
#include "belfry/framework/optimizers/schedule_checks.h"

namespace belfry {
namespace {

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

Schedule cosine_decay(const CosineDecayOptions& o) {
  require_initial("cosine_decay", o.initial);
  require_steps("cosine_decay", "decay_steps", o.decay_steps);
  require(o.alpha >= 0 && o.alpha <= 1, "cosine_decay: alpha is ", o.alpha,
          "; it must lie in [0, 1]");
  return [o](Tensor step) {
    Tensor done = minimum(cast(step, DType::f64) / static_cast<double>(o.decay_steps),
                          constant(step.graph(), 1, DType::f64));
    return o.initial * ((1 - o.alpha) / 2 * (1 + cos_pi(done)) + o.alpha);
  };
}

}  // namespace belfry
