#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef ftrl_update_op = update_op<update::Ftrl>();

Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options) {
  return apply_update(ftrl_update_op, update_layout<update::Ftrl>(options), {learning_rate}, groups,
                      options);
}

}  // namespace belfry
