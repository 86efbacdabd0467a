#pragma once
// Update ops: each changes all of an update's variables in one multi-tensor pass. Inputs come first
// as scalars (learning rate f32 [], then step i64 [] where the rule takes it), then in groups, one
// a variable: variable, gradient, slots. They are effects: they have no outputs. All groups of one
// node have one floating dtype and lie on one device slot; 16-bit floats are computed in float.
// The formulas stand in update_functors.h.

#include <cstddef>
#include <span>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/update_functors.h"

namespace belfry {

/// One variable with its gradient and its slots.
struct UpdateGroup {
  Variable variable;
  Tensor gradient;                   ///< as the variable
  std::vector<Variable> slots = {};  ///< as many as the op asks for, each as the variable
};

/// Where the inputs of an update op lie.
struct UpdateLayout {
  int scalars = 1;
  int slots = 0;

  int group_size() const { return 2 + slots; }
  int groups(std::size_t inputs) const {
    return (static_cast<int>(inputs) - scalars) / group_size();
  }
  int variable(int group) const { return scalars + group * group_size(); }
  int gradient(int group) const { return variable(group) + 1; }
  int slot(int group, int k) const { return variable(group) + 2 + k; }
};

/// The layout of update::Rule with these options, for example
/// update_layout<update::Adam>(options).
template <template <class> class Rule>
UpdateLayout update_layout(const typename Rule<float>::Options& options) {
  return {Rule<float>::scalars, Rule<float>::slot_count(options)};
}

extern const OpDef sgd_update_op;
extern const OpDef momentum_update_op;
extern const OpDef adam_update_op;
extern const OpDef rmsprop_update_op;
extern const OpDef adagrad_update_op;
extern const OpDef ftrl_update_op;
extern const OpDef lamb_update_op;

// Each adds one node. Error: no groups, a variable listed twice, a group with another number of
// slots, types that differ within a group or between groups, scalars of the wrong type.
Node& sgd_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                 const SgdUpdateOptions& options = {});
Node& momentum_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                      const MomentumUpdateOptions& options = {});
Node& adam_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const AdamUpdateOptions& options = {});
Node& rmsprop_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const RmspropUpdateOptions& options = {});
Node& adagrad_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                     const AdagradUpdateOptions& options = {});
Node& ftrl_update(Tensor learning_rate, std::span<const UpdateGroup> groups,
                  const FtrlUpdateOptions& options = {});
Node& lamb_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const LambUpdateOptions& options = {});

}  // namespace belfry
