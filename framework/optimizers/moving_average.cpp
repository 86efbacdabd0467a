#include <map>
#include <vector>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {
namespace {

Variable add_zeros(const Variable& variable, std::string name, const TensorType& type) {
  VariableOptions options{std::move(name), type, zeros(), VariableKind::slot};
  return Variable(
      variable.node().graph().add(variable_op, {}, std::move(options),
                                  {variable.name(), variable.node().device(), Phase::update}));
}

AverageGroup with_average(const Variable& variable) {
  std::string name = concat(variable.name(), moving_average_suffix);
  require(!variable.node().graph().find_variable(name), "moving_average: variable `",
          variable.name(), "` has an average already");
  return {variable, add_zeros(variable, name, variable.type()),
          add_zeros(variable, name + "_count", {{}, DType::i64})};
}

}  // namespace

void add_moving_averages(std::span<const Variable> variables,
                         const MovingAverageUpdateOptions& options, Tensor condition) {
  require_rate("moving_average", "decay", options.decay);
  std::map<int, std::vector<AverageGroup>> nodes;  // by device
  for (const Variable& variable : variables) {
    require(variable != Variable(), "moving_average: a variable is undefined");
    nodes[variable.node().device()].push_back(with_average(variable));
  }
  for (const auto& [slot, groups] : nodes) {
    Graph::PlacementGuard guard(groups[0].variable.node().graph(),
                                {"moving_average", slot, Phase::update});
    moving_average_update(groups, options, condition);
  }
}

}  // namespace belfry
