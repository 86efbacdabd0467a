#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef sgd_update_op = update_op<update::Sgd>();

Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options, Tensor condition) {
  return apply_update<update::Sgd>(sgd_update_op, {learning_rate}, groups, options, condition);
}

}  // namespace belfry
