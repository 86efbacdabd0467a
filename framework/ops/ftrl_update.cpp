#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef ftrl_update_op = update_op<update::Ftrl>();

Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options, Tensor condition) {
  return apply_update<update::Ftrl>(ftrl_update_op, {learning_rate}, groups, options, condition);
}

}  // namespace belfry
