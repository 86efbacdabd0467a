#include "belfry/framework/optimizers/minimize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

void check(const Update& update) {
  require(update.loss.defined(), "minimize: the loss is undefined");
  const TensorType& type = update.loss.type();
  require(is_floating(type.dtype), "minimize: the loss is ", type, "; it must be floating");
  require(type.shape.rank() == 0, "minimize: the loss is ", type,
          "; it must be a scalar, so take its mean or sum");
  require(!update.variables.empty(), "minimize: there are no variables to train; ",
          "note that a Network has none before its first call");
  std::set<const Node*> seen;
  for (const Variable& v : update.variables) {
    require(v != Variable(), "minimize: a variable is undefined");
    require(seen.insert(&v.node()).second, "minimize: variable `", v.name(), "` is listed twice");
    require(v.options().kind == VariableKind::parameter, "minimize: variable `", v.name(),
            "` is a ", v.options().kind, "; only parameters are trained");
  }
}

// "`a`, `b`, `c` and 7 more"
std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    out += concat(i ? ", `" : "`", names[i], "`");
  return names.size() > most ? concat(out, " and ", names.size() - most, " more") : out;
}

}  // namespace

Update minimize(Tensor loss, Optimizer optimizer, std::vector<Variable> variables) {
  Update update{loss, std::move(optimizer), std::move(variables)};
  check(update);
  return update;
}

Update minimize(Tensor loss, Optimizer optimizer) {
  require(loss.defined(), "minimize: the loss is undefined");
  return minimize(loss, std::move(optimizer), trainable_variables(loss.graph()));
}

Gradients compute_gradients(const Update& update, Tensor weight) {
  check(update);
  std::vector<Tensor> values(update.variables.begin(), update.variables.end());
  std::vector<Tensor> found = gradients(update.loss, values, weight);
  Gradients out;
  std::vector<std::string> independent;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!found[i].defined()) independent.push_back(update.variables[i].name());
    out.push_back({update.variables[i], found[i]});
  }
  require(independent.empty(), "minimize: the loss ", to_string(update.loss.node()),
          " does not depend on ", shortened(independent),
          "; list the variables to train without them");
  return out;
}

void apply_gradients(const Update& update, const Gradients& gradients, Tensor condition) {
  if (gradients.empty()) return;
  require(update.optimizer.apply, "apply_gradients: the optimizer of the update `", update.title(),
          "` has no apply");
  for (const auto& [variable, gradient, rate] : gradients) {
    require(variable != Variable(), "apply_gradients: a variable is undefined");
    require(gradient.defined(), "apply_gradients: the gradient of `", variable.name(),
            "` is undefined");
    require(gradient.type() == variable.type(), "apply_gradients: variable `", variable.name(),
            "` is ", variable.type(), " but its gradient is ", gradient.type());
    require(std::isfinite(rate) && rate >= 0, "apply_gradients: the rate of `", variable.name(),
            "` is ", rate, "; it must be finite and at least 0");
  }
  if (condition.defined())
    require((condition.type() == TensorType{{}, DType::boolean}),
            "apply_gradients: the condition of the update `", update.title(), "` is ",
            condition.type(), "; expected bool[]");
  Graph& graph = gradients[0].variable.node().graph();
  Graph::PlacementGuard guard(graph, {update.title(), 0, Phase::update});
  ApplyArgs args{.condition = condition};
  if (!update.counter.empty()) {
    Variable counter =
        Scope(graph).variable(update.counter, {.dtype = DType::i64, .kind = VariableKind::slot});
    args.step = counter;
    if (update.schedule_by_counter) args.schedule_step = counter;
    assign(counter, add(counter, constant(graph, 1, DType::i64)));
  }
  update.optimizer.apply(gradients, args);
}

std::vector<Update> Updates::list(Tensor loss, TowerReduction over_towers) const {
  if (!optimizer_) return updates_;
  Update update = minimize(loss, *optimizer_);
  update.over_towers = over_towers;
  return {update};
}

}  // namespace belfry
