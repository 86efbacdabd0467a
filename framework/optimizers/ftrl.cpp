#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer ftrl(const FtrlOptions& o) {
  require(o.learning_rate_power <= 0, "ftrl: learning_rate_power is ", o.learning_rate_power,
          "; it must be at most 0");
  require_above_zero("ftrl", "initial_accumulator", o.initial_accumulator);
  require_not_negative("ftrl", "l1", o.l1);
  require_not_negative("ftrl", "l2", o.l2);
  FtrlUpdateOptions update{o.learning_rate_power, o.l1, o.l2, o.lazy};
  return make_optimizer(
      "ftrl", o.learning_rate, {{"accumulator", o.initial_accumulator}, {"linear"}},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        ftrl_update(rate, groups, update, condition);
      });
}

}  // namespace belfry
