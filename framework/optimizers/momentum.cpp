#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer momentum(const MomentumOptions& o) {
  require_rate("momentum", "momentum", o.momentum);
  require_not_negative("momentum", "weight_decay", o.weight_decay);
  MomentumUpdateOptions update{o.momentum, o.nesterov, o.weight_decay, o.decay_min_rank, o.lazy};
  return make_optimizer(
      "momentum", o.learning_rate, {{"accumulator"}},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        momentum_update(rate, groups, update, condition);
      });
}

}  // namespace belfry
