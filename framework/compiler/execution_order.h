#pragma once
// In what order a slot runs its nodes. Internal to compiler/.

#include <vector>

#include "belfry/framework/graph/rewrite.h"

namespace belfry {

inline bool writes_variables(const Node* node) { return node->op().mutates != nullptr; }

/// The nodes that the program needs, leaves among them, in the order of its graph, but for these.
/// A step reads variables as they were before it, so everything that writes them comes last. What
/// another slot waits for is sent as soon as it is there. A reduction comes right behind the last
/// of its operands, and all in the order in which they were made: every tower starts the same ones
/// in the same order.
std::vector<const Node*> execution_order(const Program& program);

}  // namespace belfry
