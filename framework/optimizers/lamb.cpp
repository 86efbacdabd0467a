#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer lamb(const LambOptions& o) {
  require_rate("lamb", "beta1", o.beta1);
  require_rate("lamb", "beta2", o.beta2);
  require_above_zero("lamb", "epsilon", o.epsilon);
  require_not_negative("lamb", "weight_decay", o.weight_decay);
  LambUpdateOptions update{o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decay_min_rank};
  return make_optimizer(
      "lamb", o.learning_rate, {{"m"}, {"v"}},
      [update](Tensor rate, Tensor step, std::span<const UpdateGroup> groups, Tensor condition) {
        lamb_update(rate, step, groups, update, condition);
      });
}

}  // namespace belfry
