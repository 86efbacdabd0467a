#include "belfry/framework/ops/rows_update.h"

namespace belfry {

const OpDef ftrl_update_op = update_op<update::Ftrl>();
const OpDef ftrl_rows_update_op = rows_update_op<update::Ftrl>("ftrl_rows_update");

Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options, Tensor condition) {
  return apply_update<update::Ftrl>(ftrl_update_op, {learning_rate}, groups, options, condition);
}

}  // namespace belfry
