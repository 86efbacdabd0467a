#include "belfry/framework/ops/rows_update.h"

namespace belfry {

const OpDef momentum_update_op = update_op<update::Momentum>();
const OpDef momentum_rows_update_op = rows_update_op<update::Momentum>("momentum_rows_update");

Node& momentum_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                      const MomentumUpdateOptions& options, Tensor condition) {
  return apply_update<update::Momentum>(momentum_update_op, {learning_rate}, groups, options,
                                        condition);
}

}  // namespace belfry
