#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer sgd(const SgdOptions& o) {
  require_not_negative("sgd", "weight_decay", o.weight_decay);
  SgdUpdateOptions update{o.weight_decay, o.decay_min_rank};
  return make_optimizer(
      "sgd", o.learning_rate, {},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        sgd_update(rate, groups, update, condition);
      });
}

}  // namespace belfry
