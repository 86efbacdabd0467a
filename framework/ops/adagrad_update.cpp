#include "belfry/framework/ops/update_rule.h"

namespace belfry {

const OpDef adagrad_update_op = update_op<update::Adagrad>();

Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options) {
  return apply_update(adagrad_update_op, update_layout<update::Adagrad>(options), {learning_rate},
                      groups, options);
}

}  // namespace belfry
