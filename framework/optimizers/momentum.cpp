#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/optimizers/state_checks.h"

namespace belfry {

Optimizer momentum(const MomentumOptions& o) {
  require_rate("momentum", "momentum", o.momentum);
  require_not_negative("momentum", "weight_decay", o.weight_decay);
  require_state("momentum", o.state, o.lazy);
  MomentumUpdateOptions update{o.momentum,       o.nesterov, o.weight_decay,
                               o.decay_min_rank, o.lazy,     o.state};
  return make_optimizer(
      "momentum", o.learning_rate, {{"accumulator"}},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        MomentumUpdateOptions own = update;
        own.state = state_of(groups[0]);  // small variables have one of their own
        momentum_update(rate, groups, own, condition);
      },
      o.state);
}

}  // namespace belfry
