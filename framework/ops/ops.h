#pragma once
// All ops, and differentiation: graph in, more graph out.

#include <span>
#include <vector>

#include "belfry/framework/ops/attention/attention.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/random/random.h"
#include "belfry/framework/ops/recurrent/recurrent.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {

/// The gradients of `y` with respect to each of `xs`, as new nodes (Phase::backward) of the same
/// graph, made in reverse order of the forward nodes and placed in their scopes. Undefined where y
/// does not depend on x. `seed` is the gradient of y itself: ones when undefined (y must then be a
/// scalar). Error: y is not floating, or the path runs through an op without a gradient; it is
/// named with its scope.
std::vector<Tensor> gradients(Tensor y, std::span<const Tensor> xs, Tensor seed = {});

}  // namespace belfry
