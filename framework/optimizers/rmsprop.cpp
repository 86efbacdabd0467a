#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer rmsprop(const RmspropOptions& o) {
  require_rate("rmsprop", "decay", o.decay);
  require_rate("rmsprop", "momentum", o.momentum);
  require_above_zero("rmsprop", "epsilon", o.epsilon);
  std::vector<SlotSpec> slots{{"mean_square", 1}};
  if (o.momentum != 0) slots.push_back({"velocity"});
  if (o.centered) slots.push_back({"mean_gradient"});
  RmspropUpdateOptions update{o.decay, o.momentum, o.epsilon, o.centered};
  return make_optimizer(
      "rmsprop", o.learning_rate, slots,
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        rmsprop_update(rate, groups, update, condition);
      });
}

}  // namespace belfry
