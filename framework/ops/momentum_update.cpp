#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef momentum_update_op = update_op<update::Momentum>();

Node& momentum_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                      const MomentumUpdateOptions& options) {
  return apply_update(momentum_update_op, update_layout<update::Momentum>(options), {learning_rate},
                      groups, options);
}

}  // namespace belfry
