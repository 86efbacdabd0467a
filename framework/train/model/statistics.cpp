// Effects of the forward pass: moving statistics, and what else a model_fn assigns.

#include <map>
#include <tuple>

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/train/model/model.h"

namespace belfry {
namespace {

// "a/b" of "a/b/c", and nothing of "c".
std::string_view scope_of(std::string_view name) {
  std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

bool is_in(std::string_view name, std::string_view scope) {
  return scope.empty()
         || (name.size() > scope.size() && name.starts_with(scope) && name[scope.size()] == '/');
}

}  // namespace

std::vector<Node*> Model::reductions_after(std::size_t count) const {
  std::vector<Node*> out;
  for (std::size_t i = count; i < graph_->size(); ++i)
    if (graph_->node(i).op().collective) out.push_back(&graph_->node(i));
  return out;
}

// Towers' assignments to a variable that they have in common become one value; a tower without rows
// assigns nothing. The last of several assignments to one variable is the one that stays.
void Model::average_statistics(std::size_t forward_effects) {
  std::vector<Node*> effects(graph_->effects().begin(), graph_->effects().end());
  effects.resize(forward_effects);
  if (graph_->towers() == 1) {
    for (Node* effect : effects) add_forward_effect(*effect);
    return;
  }
  std::size_t first_node = graph_->size();
  // By the variable's place in the graph: the same order on every tower.
  std::map<int, std::pair<Tensor, Tensor>> assigned;
  for (Node* effect : effects) {
    if (effect->is(assign_op)) {
      assigned[effect->input(0).node().id()] = {effect->input(0), effect->input(1)};
    } else {
      add_forward_effect(*effect);
    }
  }
  // By type, device and the updates that they go with.
  std::map<std::tuple<DType, int, UpdateSet>, std::vector<std::pair<Tensor, Tensor>>> averaged;
  for (const auto& [id, assignment] : assigned) {
    const auto& [variable, value] = assignment;
    auto kind = variable.node().as<VariableOptions>().over_towers;
    bool mean = kind == OverTowers::mirrored && is_floating(value.dtype());
    if (mean) {
      averaged[{value.dtype(), variable.node().device(), updates_near(variable.node())}]
          .emplace_back(variable, value);
      continue;
    }
    Tensor own = where(tower_has_rows(*graph_), value, variable);
    if (!differs_over_towers(kind)) {
      Tensor first = equal(tower_index(*graph_), constant(*graph_, 0, DType::i64));
      own = tower_sum(where(first, own, constant(*graph_, 0, own.dtype())));
    }
    add_forward_effect(assign(Variable(variable.node()), own));
  }
  for (auto& [key, list] : averaged) {
    std::vector<Tensor> values;
    for (const auto& [variable, value] : list) values.push_back(value);
    values = tower_mean(std::move(values), concat("statistics ", std::get<0>(key)));
    for (std::size_t i = 0; i < list.size(); ++i)
      add_forward_effect(assign(Variable(list[i].first.node()), values[i]));
  }
  forward_reductions_ = reductions_after(first_node);
}

void Model::add_forward_effect(Node& effect) {
  const Node& variable = effect.input(effect.mutated()[0]).node();
  forward_effects_.emplace_back(&effect, updates_near(variable));
}

UpdateSet Model::updates_near(const Node& variable) const {
  if (spec_.round.empty()) return UpdateSet::all();
  const std::string& name = variable.as<VariableOptions>().name;
  UpdateSet near;
  for (std::string_view scope = name; near.empty() && !scope.empty();) {
    scope = scope_of(scope);
    for (std::size_t u = 0; u < updates_.size(); ++u)
      for (const Variable& v : updates_[u].update->variables)
        if (is_in(v.name(), scope)) near |= {u};
  }
  return near;
}

// Where updates may be skipped because numbers are not finite, a moving statistic may not take them
// in either: it would never be finite again.
void Model::keep_statistics_finite() {
  for (auto& [effect, updates] : forward_effects_) {
    if (!effect->is(assign_op) || !is_floating(effect->input(1).dtype())) continue;
    Variable variable(effect->input(0).node());
    Tensor value = effect->input(1);
    effect = &assign(variable, where(all_finite({{variable, value}}), value, variable));
  }
}

}  // namespace belfry
