#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer adagrad(const AdagradOptions& o) {
  require_above_zero("adagrad", "initial_accumulator", o.initial_accumulator);
  return make_optimizer("adagrad", o.learning_rate, {{"accumulator", o.initial_accumulator}},
                        [](Tensor rate, Tensor, std::span<const UpdateGroup> groups,
                           Tensor condition) { adagrad_update(rate, groups, {}, condition); });
}

}  // namespace belfry
