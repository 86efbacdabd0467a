#pragma once
// Clipping of variables in place, as an effect.

#include <span>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {

struct ClipUpdateOptions {
  double limit = 0.01;  ///< above 0
  BELFRY_FIELDS(limit)
};

namespace update {

/// The rule of clip_update: the nearest number in [-limit, limit]; NaN stays. T is the type in
/// which it computes.
template <class T>
struct Clip {
  T limit;

  BELFRY_HOST_DEVICE static Clip make(const ClipUpdateOptions& o) { return {T(o.limit)}; }
  BELFRY_HOST_DEVICE T apply(T variable) const {
    return variable > limit ? limit : variable < -limit ? -limit : variable;
  }
};

}  // namespace update

/// Where the inputs of clip_update lie: the condition if there is one, then the variables.
struct ClipLayout {
  explicit ClipLayout(const Node& node)
      : condition(node.input(0).dtype() == DType::boolean),
        variables(static_cast<int>(node.inputs().size()) - variable(0)) {}
  int variable(int i) const { return i + (condition ? 1 : 0); }

  bool condition;  ///< input 0
  int variables;   ///< how many
};

/// Clips each variable to [-limit, limit] as it is when the effect runs: made after an optimizer's
/// update, it clips what that leaves. In a step in which the condition (bool []) is false it
/// changes nothing. All floating types, mixed at will; the variables lie on one device.
extern const OpDef clip_update_op;
/// Adds one node; an undefined condition is always true. Error: no variables, an undefined one, one
/// that is listed twice or is not floating; a limit that is not above 0; a condition of another
/// type.
Node& clip_update(std::span<const Variable> variables, const ClipUpdateOptions& options = {},
                  Tensor condition = {});

}  // namespace belfry
