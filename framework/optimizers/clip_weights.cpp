#include <map>
#include <utility>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/update/clip_update.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

Optimizer clip_weights(Optimizer optimizer, const ClipWeightsOptions& o) {
  require_above_zero("clip_weights", "limit", o.limit);
  // Effects run in the order of their making, and see what those before them have written.
  optimizer.apply = [update = std::move(optimizer.apply), limit = o.limit](
                        const Gradients& gradients, const ApplyArgs& args) {
    update(gradients, args);
    std::map<int, std::vector<Variable>> nodes;  // by device slot
    for (const VariableGradient& entry : gradients)
      nodes[entry.variable.node().slot()].push_back(entry.variable);
    for (const auto& [slot, variables] : nodes) {
      Graph::PlacementGuard guard(variables[0].node().graph(),
                                  {"clip_weights", slot, Phase::update});
      clip_update(variables, {limit}, args.condition);
    }
  };
  return optimizer;
}

}  // namespace belfry
