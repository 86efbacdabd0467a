#pragma once
// Update ops: each changes all of an update's variables in one multi-tensor pass. Inputs come first
// as scalars, then in groups, one group a variable. They are effects: they have no outputs.

#include <span>
#include <vector>

#include "belfry/framework/graph/leaves.h"

namespace belfry {

/// One variable with its gradient and its slots.
struct UpdateGroup {
  Variable variable;
  Tensor gradient;              ///< as the variable
  std::vector<Variable> slots;  ///< as many as the op asks for, each as the variable
};

}  // namespace belfry
