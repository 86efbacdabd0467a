#pragma once
// Stages for gradient hooks: updates with gradients that are known, and their steps on the CPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "../framework/base/error_of.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/runtime/executable.h"
#include "hooks_support.h"

namespace belfry::hooks {

struct GradientHooks : testing::Test {
  Variable variable(std::string_view part, std::string_view name) {
    return (scope / part).variable(name, {.shape = Shape{2}, .initializer = constant_value(1)});
  }
  /// An update of two variables by gradient descent at rate 1, with these gradients.
  GradientStage stage_of(Variable a, Tensor a_gradient, Variable b, Tensor b_gradient) {
    updates.push_back(std::make_unique<Update>(minimize(
        sum(a.value() + b.value()), sgd({.learning_rate = 1}), std::vector<Variable>{a, b})));
    return {*updates.back(), {{a, a_gradient}, {b, b_gradient}}};
  }
  /// The same with (3, 4) and (0, 12).
  GradientStage stage_of(Variable a, Variable b) {
    return stage_of(a, constant(graph, Array::of({3.0f, 4.0f})), b,
                    constant(graph, Array::of({0.0f, 12.0f})));
  }
  /// Builds a stage as the trainer does.
  void build(GradientStage& stage, Hook& hook) {
    hook.on_tower_gradients(stage);
    hook.on_gradients(stage);
    apply_gradients(stage.update, stage.gradients, stage.condition);
    hook.after_apply(stage);
  }
  /// Runs all effects of the graph in one step more.
  void step(const Features& batch = {}) {
    if (!run)
      run = std::make_unique<Executable>(
          compile({}, graph.effects(), store.device(), {.verify = true}), store, 0);
    run->run(batch, {.step = finished++});
  }
  std::vector<double> value(std::string_view name) const {
    Array array = store.read(name);
    return {array.at(0), array.at(1)};
  }
  static std::vector<std::string> names(const GradientStage& stage) {
    std::vector<std::string> out;
    for (const auto& entry : stage.gradients) out.push_back(entry.variable.name());
    return out;
  }
  static std::vector<double> values(Tensor t) {
    Array array = evaluate({t})[0];
    return {array.at(0), array.at(1)};
  }

  Graph graph;
  Scope scope{graph};
  std::vector<std::unique_ptr<Update>> updates;
  Variable kernel = variable("encoder", "kernel"), bias = variable("head", "bias");
  VariableStore store{find_device("cpu")};
  std::unique_ptr<Executable> run;
  std::int64_t finished = 0;
  FakeContext context;
};

}  // namespace belfry::hooks
