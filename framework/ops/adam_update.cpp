#include "belfry/framework/ops/rows_update.h"

namespace belfry {

const OpDef adam_update_op = update_op<update::Adam>();
const OpDef adam_rows_update_op = rows_update_op<update::Adam>("adam_rows_update");

Node& adam_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const AdamUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adam>(adam_update_op, {learning_rate, step}, groups, options,
                                    condition);
}

}  // namespace belfry
