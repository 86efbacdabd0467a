#include "belfry/framework/ops/rows_update.h"

namespace belfry {

const OpDef adagrad_update_op = update_op<update::Adagrad>();
const OpDef adagrad_rows_update_op = rows_update_op<update::Adagrad>("adagrad_rows_update");

Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adagrad>(adagrad_update_op, {learning_rate}, groups, options,
                                       condition);
}

}  // namespace belfry
