#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef adagrad_update_op = update_op<update::Adagrad>();

Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adagrad>(adagrad_update_op, {learning_rate}, groups, options,
                                       condition);
}

}  // namespace belfry
