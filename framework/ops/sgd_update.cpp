#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef sgd_update_op = update_op<update::Sgd>();

Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options) {
  return apply_update(sgd_update_op, update_layout<update::Sgd>(options), {learning_rate}, groups,
                      options);
}

}  // namespace belfry
