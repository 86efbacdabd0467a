#include "random_optimizer.h"

namespace belfry::random_models {
namespace {

Schedule draw_rate(PhiloxStream& random, double rate) {
  switch (random.below(8)) {
    case 0:
      return cosine_decay({.initial = rate, .decay_steps = 3, .alpha = 0.25});
    case 1:
      return exponential_decay({.initial = rate, .decay_steps = 2, .decay_rate = 0.5});
    case 2:
      return warmup(rate, {.steps = 2, .from = rate / 2});
    default:
      return rate;
  }
}

OptimizerState draw_state(PhiloxStream& random) {
  switch (random.below(4)) {
    case 0:
      return OptimizerState::bf16;
    case 1:
      return OptimizerState::eight_bits;
    default:
      return OptimizerState::as_variable;
  }
}

constexpr std::uint64_t rules = 8, rules_with_states = 3;

// An epsilon as large as these keeps gradients that are rounding alone from becoming whole steps.
Optimizer draw_rule(PhiloxStream& random, std::uint64_t rule, bool lazy, OptimizerState state) {
  bool choice = random.below(2) == 0;
  double decay = random.below(2) == 0 ? 0.125 : 0;
  int decay_min_rank = static_cast<int>(random.below(3));
  Schedule rate = draw_rate(random, 0.05), low_rate = draw_rate(random, 0.01);
  switch (rule) {
    case 0:
      return momentum({.learning_rate = rate,
                       .nesterov = choice,
                       .weight_decay = decay,
                       .decay_min_rank = decay_min_rank,
                       .lazy = lazy,
                       .state = state});
    case 1:
      return adam({.learning_rate = low_rate, .epsilon = 1e-3, .lazy = lazy, .state = state});
    case 2:
      return adamw({.learning_rate = low_rate,
                    .epsilon = 1e-3,
                    .weight_decay = decay,
                    .decay_min_rank = decay_min_rank,
                    .state = state});
    case 3:
      return sgd({.learning_rate = rate, .weight_decay = decay, .decay_min_rank = decay_min_rank});
    case 4:
      return rmsprop({.learning_rate = low_rate,
                      .momentum = random.below(2) == 0 ? 0.5 : 0,
                      .epsilon = 1e-3,
                      .centered = choice});
    case 5:
      return adagrad({.learning_rate = rate});
    case 6:
      return ftrl({.learning_rate = rate, .l1 = choice ? 0.01 : 0, .l2 = decay, .lazy = lazy});
    default:
      return lamb({.learning_rate = low_rate,
                   .epsilon = 1e-3,
                   .weight_decay = decay,
                   .decay_min_rank = decay_min_rank});
  }
}

}  // namespace

DrawnOptimizer draw_optimizer(PhiloxStream& random, bool may_round) {
  std::uint64_t rule = random.below(rules);
  bool lazy = random.below(3) == 0;
  OptimizerState state = may_round && !lazy && rule < rules_with_states
                             ? draw_state(random)
                             : OptimizerState::as_variable;
  Optimizer optimizer = draw_rule(random, rule, lazy, state);
  if (random.below(5) == 0) optimizer = clip_weights(optimizer, {.limit = 0.75});
  return {optimizer, state != OptimizerState::as_variable};
}

}  // namespace belfry::random_models
