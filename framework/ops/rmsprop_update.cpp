#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef rmsprop_update_op = update_op<update::Rmsprop>();

Node& rmsprop_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const RmspropUpdateOptions& options) {
  return apply_update(rmsprop_update_op, update_layout<update::Rmsprop>(options), {learning_rate},
                      groups, options);
}

}  // namespace belfry
