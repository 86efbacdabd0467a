#include "belfry/framework/ops/update/rows_update.h"
#include "belfry/framework/ops/update/update_rule.h"

namespace belfry {

const OpDef sgd_update_op = update_op<update::Sgd>();
const OpDef sgd_rows_update_op = rows_update_op<update::Sgd>("sgd_rows_update");

Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options, Tensor condition) {
  return apply_update<update::Sgd>(sgd_update_op, {learning_rate}, groups, options, condition);
}

const OpDef momentum_update_op = update_op<update::Momentum>();
const OpDef momentum_rows_update_op = rows_update_op<update::Momentum>("momentum_rows_update");

Node& momentum_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                      const MomentumUpdateOptions& options, Tensor condition) {
  return apply_update<update::Momentum>(momentum_update_op, {learning_rate}, groups, options,
                                        condition);
}

const OpDef adam_update_op = update_op<update::Adam>();
const OpDef adam_rows_update_op = rows_update_op<update::Adam>("adam_rows_update");

Node& adam_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const AdamUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adam>(adam_update_op, {learning_rate, step}, groups, options,
                                    condition);
}

const OpDef rmsprop_update_op = update_op<update::Rmsprop>();

Node& rmsprop_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const RmspropUpdateOptions& options, Tensor condition) {
  return apply_update<update::Rmsprop>(rmsprop_update_op, {learning_rate}, groups, options,
                                       condition);
}

const OpDef adagrad_update_op = update_op<update::Adagrad>();
const OpDef adagrad_rows_update_op = rows_update_op<update::Adagrad>("adagrad_rows_update");

Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options, Tensor condition) {
  return apply_update<update::Adagrad>(adagrad_update_op, {learning_rate}, groups, options,
                                       condition);
}

const OpDef ftrl_update_op = update_op<update::Ftrl>();
const OpDef ftrl_rows_update_op = rows_update_op<update::Ftrl>("ftrl_rows_update");

Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options, Tensor condition) {
  return apply_update<update::Ftrl>(ftrl_update_op, {learning_rate}, groups, options, condition);
}

}  // namespace belfry
