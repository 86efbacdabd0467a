#pragma once
// Update ops: each changes all of an update's variables in one multi-tensor pass. Inputs come first
// as scalars (learning rate f32 [], then step i64 [] where the rule takes it, then random_state
// where the slots are kept in fewer bits than the variable, then the condition bool [] if there is
// one), then in groups, one a variable: variable, gradient, slots. They are effects: they have no
// outputs. In a step in which the condition is false they change nothing, neither variables nor
// slots. All groups of one node have one floating dtype, keep their slots in one way and lie on one
// device; 16-bit floats are computed in float. The formulas stand in update_functors.h, the
// formats of slots in update_state.h.

#include <cstddef>
#include <span>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/update/update_functors.h"

namespace belfry {

/// One variable with its gradient and its slots.
struct UpdateGroup {
  Variable variable;
  Tensor gradient;                   ///< as the variable
  std::vector<Variable> slots = {};  ///< as many as the op asks for, each of slot_type()
};

/// The type of a slot of a variable: its own; bf16; or of eight bits, u8 [blocks, 260]. Error: a
/// state other than as_variable of a variable that is not f32.
TensorType slot_type(const TensorType& variable, OptimizerState state);
/// How the slots of a group are kept: as_variable for a small variable under eight_bits.
OptimizerState state_of(const UpdateGroup& group);

/// Where the inputs of an update op lie.
struct UpdateLayout {
  int scalars = 1;  ///< learning rate, and step where the rule takes it
  int slots = 0;
  bool random = false;     ///< whether random_state is among the inputs
  bool condition = false;  ///< whether there is one

  int random_state() const { return scalars; }
  int condition_input() const { return scalars + (random ? 1 : 0); }
  int group_size() const { return 2 + slots; }
  int groups(std::size_t inputs) const {
    return (static_cast<int>(inputs) - variable(0)) / group_size();
  }
  int variable(int group) const {
    return condition_input() + (condition ? 1 : 0) + group * group_size();
  }
  int gradient(int group) const { return variable(group) + 1; }
  int slot(int group, int k) const { return variable(group) + 2 + k; }
};

/// The layout of update::Rule with these options and so many inputs, for example
/// update_layout<update::Adam>(options, node.inputs().size()). One input more than the others take
/// is the condition.
template <template <class> class Rule>
UpdateLayout update_layout(const typename Rule<float>::Options& options, std::size_t inputs) {
  UpdateLayout layout{Rule<float>::scalars, Rule<float>::slot_count(options)};
  layout.random = state_of(options) != OptimizerState::as_variable;
  int others = layout.condition_input();
  layout.condition = (static_cast<int>(inputs) - others) % layout.group_size() == 1;
  return layout;
}

extern const OpDef sgd_update_op;
extern const OpDef momentum_update_op;
extern const OpDef adam_update_op;
extern const OpDef rmsprop_update_op;
extern const OpDef adagrad_update_op;
extern const OpDef ftrl_update_op;
extern const OpDef lamb_update_op;

// Each adds one node; an undefined condition is always true. Error: no groups, a variable listed
// twice, a group with another number of slots, types that differ within a group or between groups,
// scalars of the wrong type.
Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options = {}, Tensor condition = {});
Node& momentum_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                      const MomentumUpdateOptions& options = {}, Tensor condition = {});
Node& adam_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const AdamUpdateOptions& options = {}, Tensor condition = {});
Node& rmsprop_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const RmspropUpdateOptions& options = {}, Tensor condition = {});
Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options = {}, Tensor condition = {});
Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options = {}, Tensor condition = {});
Node& lamb_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const LambUpdateOptions& options = {}, Tensor condition = {});

/// (moving, batch)... : each moving statistic comes nearer to that of a batch, in f32, each step
/// rounded: moving += (batch x scale - moving) x rate. All have any shape, and pairs are alike. For
/// the compiler, which makes one of all such updates: see merge_statistics_updates().
struct StatisticsUpdateOptions {
  std::vector<double> scales, rates;  ///< of each pair; exact as f32
  BELFRY_FIELDS(scales, rates)
};
extern const OpDef statistics_update_op;

/// A variable with its average.
struct AverageGroup {
  Variable variable;
  Variable average;  ///< as the variable
  Variable count;    ///< i64 []: how often the average was updated
};

/// Where the inputs of moving_average_update lie: the condition if there is one, then groups of
/// variable, average and count.
struct AverageLayout {
  std::size_t inputs = 0;

  bool condition() const { return inputs % 3 == 1; }  ///< input 0
  int groups() const { return inputs / 3; }
  int variable(int group) const { return 3 * group + (condition() ? 1 : 0); }
  int average(int group) const { return variable(group) + 1; }
  int count(int group) const { return variable(group) + 2; }
};

/// Exponential moving averages of variables as they are when the effect runs: made after an
/// optimizer's update, it sees that update's results. For this the variables stand among the
/// inputs that the node mutates, since only those are accessed in place; all others are read as
/// they were before the step. It changes only averages, by update::MovingAverage, and counts, by 1.
extern const OpDef moving_average_update_op;
/// Adds one node; an undefined condition is always true. Error: no groups, an undefined variable,
/// one that is listed twice, types other than those above, a variable that is not floating.
Node& moving_average_update(std::span<const AverageGroup> groups,
                            const MovingAverageUpdateOptions& options = {}, Tensor condition = {});

}  // namespace belfry
