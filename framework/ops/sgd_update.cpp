#include "belfry/framework/ops/rows_update.h"

namespace belfry {

const OpDef sgd_update_op = update_op<update::Sgd>();
const OpDef sgd_rows_update_op = rows_update_op<update::Sgd>("sgd_rows_update");

Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options, Tensor condition) {
  return apply_update<update::Sgd>(sgd_update_op, {learning_rate}, groups, options, condition);
}

}  // namespace belfry
