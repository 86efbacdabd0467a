#pragma once
// Small models to cut.

#include <string>
#include <vector>

#include "belfry/framework/compiler/auto_split.h"
#include "belfry/framework/compiler/split_costs.h"
#include "belfry/framework/graph/scope.h"
#include "compiler_testing.h"

namespace belfry {

class SplitTest : public ::testing::Test {
 protected:
  // Times a variable [t.size(1), out].
  Tensor times(Tensor t, const std::string& name, std::int64_t out) {
    Scope s(graph);
    weights.push_back(s.variable(name, {.shape = {t.size(1), out}}));
    return matmul(t, weights.back());
  }
  // All that there is so far.
  SplitPass pass() { return {computing_nodes(graph, 0, graph.size()), {}}; }
  std::vector<int> split(int devices) {
    std::vector<SplitPass> passes{pass()};
    return split_placements(passes, {.devices = devices})[0].device_of;
  }

  Graph graph;
  std::vector<Variable> weights;
  Tensor x = f32(graph, "x", {4, 16});
};

}  // namespace belfry
