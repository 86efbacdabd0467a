#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/update/optimizer_state.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {
namespace {

/// Error: another state than as_variable, and lazy. A row could not stay as it is where the scale
/// of a block changes with its neighbours.
void require_state(std::string_view optimizer, OptimizerState state, bool lazy) {
  require(!lazy || state == OptimizerState::as_variable, optimizer, ": lazy is true and state is ",
          state, "; lazy rows need slots as_variable: set lazy to false or state to as_variable");
}

Optimizer make_adam(std::string name, const Schedule& learning_rate,
                    const AdamUpdateOptions& update) {
  require_rate(name, "beta1", update.beta1);
  require_rate(name, "beta2", update.beta2);
  require_above_zero(name, "epsilon", update.epsilon);
  require_not_negative(name, "weight_decay", update.weight_decay);
  require_state(name, update.state, update.lazy);
  OptimizerState state = update.state;
  return make_optimizer(
      std::move(name), learning_rate, {{"m"}, {"v"}},
      [update](Tensor rate, Tensor step, std::span<const UpdateGroup> groups, Tensor condition) {
        AdamUpdateOptions own = update;
        own.state = state_of(groups[0]);  // small variables have one of their own
        adam_update(rate, step, groups, own, condition);
      },
      state);
}

}  // namespace

Optimizer sgd(const SgdOptions& o) {
  require_not_negative("sgd", "weight_decay", o.weight_decay);
  SgdUpdateOptions update{o.weight_decay, o.decay_min_rank};
  return make_optimizer(
      "sgd", o.learning_rate, {},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        sgd_update(rate, groups, update, condition);
      });
}

Optimizer momentum(const MomentumOptions& o) {
  require_rate("momentum", "momentum", o.momentum);
  require_not_negative("momentum", "weight_decay", o.weight_decay);
  require_state("momentum", o.state, o.lazy);
  MomentumUpdateOptions update{o.momentum,       o.nesterov, o.weight_decay,
                               o.decay_min_rank, o.lazy,     o.state};
  return make_optimizer(
      "momentum", o.learning_rate, {{"accumulator"}},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        MomentumUpdateOptions own = update;
        own.state = state_of(groups[0]);  // small variables have one of their own
        momentum_update(rate, groups, own, condition);
      },
      o.state);
}

Optimizer adam(const AdamOptions& o) {
  return make_adam(
      "adam", o.learning_rate,
      {.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .lazy = o.lazy, .state = o.state});
}

Optimizer adamw(const AdamWOptions& o) {
  return make_adam("adamw", o.learning_rate,
                   {o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decay_min_rank, false, o.state});
}

Optimizer lamb(const LambOptions& o) {
  require_rate("lamb", "beta1", o.beta1);
  require_rate("lamb", "beta2", o.beta2);
  require_above_zero("lamb", "epsilon", o.epsilon);
  require_not_negative("lamb", "weight_decay", o.weight_decay);
  LambUpdateOptions update{o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decay_min_rank};
  return make_optimizer(
      "lamb", o.learning_rate, {{"m"}, {"v"}},
      [update](Tensor rate, Tensor step, std::span<const UpdateGroup> groups, Tensor condition) {
        lamb_update(rate, step, groups, update, condition);
      });
}

Optimizer rmsprop(const RmspropOptions& o) {
  require_rate("rmsprop", "decay", o.decay);
  require_rate("rmsprop", "momentum", o.momentum);
  require_above_zero("rmsprop", "epsilon", o.epsilon);
  std::vector<SlotSpec> slots{{"mean_square", 1}};
  if (o.momentum != 0) slots.push_back({"velocity"});
  if (o.centered) slots.push_back({"mean_gradient"});
  RmspropUpdateOptions update{o.decay, o.momentum, o.epsilon, o.centered};
  return make_optimizer(
      "rmsprop", o.learning_rate, slots,
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        rmsprop_update(rate, groups, update, condition);
      });
}

Optimizer adagrad(const AdagradOptions& o) {
  require_above_zero("adagrad", "initial_accumulator", o.initial_accumulator);
  return make_optimizer("adagrad", o.learning_rate, {{"accumulator", o.initial_accumulator}},
                        [](Tensor rate, Tensor, std::span<const UpdateGroup> groups,
                           Tensor condition) { adagrad_update(rate, groups, {}, condition); });
}

Optimizer ftrl(const FtrlOptions& o) {
  require(o.learning_rate_power <= 0, "ftrl: learning_rate_power is ", o.learning_rate_power,
          "; it must be at most 0");
  require_above_zero("ftrl", "initial_accumulator", o.initial_accumulator);
  require_not_negative("ftrl", "l1", o.l1);
  require_not_negative("ftrl", "l2", o.l2);
  FtrlUpdateOptions update{o.learning_rate_power, o.l1, o.l2, o.lazy};
  return make_optimizer(
      "ftrl", o.learning_rate, {{"accumulator", o.initial_accumulator}, {"linear"}},
      [update](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
        ftrl_update(rate, groups, update, condition);
      });
}

}  // namespace belfry
