#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/optimizers/state_checks.h"

namespace belfry {

namespace {

Optimizer make_adam(std::string name, const Schedule& learning_rate,
                    const AdamUpdateOptions& update) {
  require_rate(name, "beta1", update.beta1);
  require_rate(name, "beta2", update.beta2);
  require_above_zero(name, "epsilon", update.epsilon);
  require_not_negative(name, "weight_decay", update.weight_decay);
  require_state(name, update.state, update.lazy);
  OptimizerState state = update.state;
  return make_optimizer(
      std::move(name), learning_rate, {{"m"}, {"v"}},
      [update](Tensor rate, Tensor step, std::span<const UpdateGroup> groups, Tensor condition) {
        AdamUpdateOptions own = update;
        own.state = state_of(groups[0]);  // small variables have one of their own
        adam_update(rate, step, groups, own, condition);
      },
      state);
}

}  // namespace

Optimizer adam(const AdamOptions& o) {
  return make_adam(
      "adam", o.learning_rate,
      {.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .lazy = o.lazy, .state = o.state});
}

Optimizer adamw(const AdamWOptions& o) {
  return make_adam("adamw", o.learning_rate,
                   {o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decay_min_rank, false, o.state});
}

}  // namespace belfry
