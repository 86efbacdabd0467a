#pragma once
// The common parts of the tests of this folder: compiling by hand, and looking at the result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "../base/error_of.h"
#include "belfry/framework/backend/backend.h"
#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/verify.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {

/// A copy of what the outputs and effects need.
inline Program program_of(const std::vector<Tensor>& outputs, std::span<Node* const> effects = {}) {
  auto keep = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  return rewrite(outputs, effects, keep);
}

/// Names of the ops that remain, in order, without the leaves.
inline std::vector<std::string> ops_of(const Program& program) {
  verify(program);
  auto live = live_nodes(*program.graph, program.outputs, program.effects);
  std::vector<std::string> out;
  for (const auto& node : *program.graph)
    if (live[static_cast<std::size_t>(node->id())] && !node->is(input_op) && !node->is(variable_op)
        && !node->is(constant_op))
      out.emplace_back(node->op().name);
  return out;
}

/// An input of f32.
inline Tensor f32(Graph& graph, const std::string& name, const Shape& shape) {
  return input(graph, name, {shape, DType::f32});
}

inline std::shared_ptr<const Plan> plan_of(const std::vector<Tensor>& outputs, bool fast = true) {
  return compile(outputs, {}, *find_device("cpu"), {.fast = fast, .verify = true});
}

}  // namespace belfry
