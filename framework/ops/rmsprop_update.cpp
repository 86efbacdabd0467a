#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef rmsprop_update_op = update_op<update::Rmsprop>();

Node& rmsprop_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const RmspropUpdateOptions& options, Tensor condition) {
  return apply_update<update::Rmsprop>(rmsprop_update_op, {learning_rate}, groups, options,
                                       condition);
}

}  // namespace belfry
