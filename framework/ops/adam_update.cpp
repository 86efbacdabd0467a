#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef adam_update_op = update_op<update::Adam>();

Node& adam_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const AdamUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adam>(adam_update_op, {learning_rate, step}, groups, options,
                                    condition);
}

}  // namespace belfry
