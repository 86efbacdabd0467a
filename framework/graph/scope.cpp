#include "belfry/framework/graph/scope.h"

#include <algorithm>

#include "belfry/framework/tensor/philox.h"

namespace belfry {

Scope Scope::operator/(std::string_view name) const {
  bool valid = !name.empty() && std::none_of(name.begin(), name.end(), [](unsigned char c) {
    return c == '/' || c < 0x20 || c == 0x7f;
  });
  require(valid, "scope: `", name, "` is not a name; one is not empty and has no '/'");
  require(is_utf8(name), "scope: a name under `", path(), "` is not UTF-8, as files need");
  Scope out = *this;
  out.placement_.scope += (path().empty() ? "" : "/") + std::string(name);
  return out;
}

Scope Scope::on(int device) const {
  require(device >= 0, "scope: device ", device, " is negative (at ", path(), ")");
  Scope out = *this;
  out.placement_.device = device;
  return out;
}

Scope Scope::shared() const {
  Scope out = *this;
  out.shared_ = true;
  return out;
}

Variable Scope::variable(std::string_view name, const VariableArgs& args) const {
  std::string full = (*this / name).path();
  TensorType type{args.shape, args.dtype};
  if (Node* existing = graph_->find_variable(full)) {
    require(shared_, "variable `", full,
            "` exists already; give the layer a scope of its own, or "
            "wrap the layers in a Network to share them");
    require(existing->output() == type, "variable `", full, "` exists as ", existing->output(),
            " and cannot be shared as ", type);
    return Variable(*existing);
  }
  require(args.kind == VariableKind::statistic || args.over_towers == OverTowers::mirrored,
          "variable `", full, "` is a ", args.kind, ", which all towers have alike; it cannot be ",
          args.over_towers, " over towers");
  return Variable(graph_->add(variable_op, {},
                              VariableOptions{full, type, args.initializer, args.kind,
                                              args.over_towers, args.outside_training},
                              placement_));
}

std::uint64_t Scope::next_stream() const {
  return philox_key(static_cast<std::uint64_t>(graph_->next_stream(path())), path()).value;
}

Tensor constant(const Scope& scope, Array value) {
  Graph::PlacementGuard guard(scope.graph(), scope.placement());
  return constant(scope.graph(), std::move(value));
}

Tensor constant(const Scope& scope, double value, DType dtype) {
  return constant(scope, Array::scalar(value).cast(dtype));
}

std::vector<Variable> trainable_variables(const Graph& graph, std::string_view path) {
  std::vector<Variable> out;
  std::string prefix = path.empty() ? "" : std::string(path) + "/";
  for (Node* node : graph.variables()) {
    const auto& options = node->as<VariableOptions>();
    if (options.kind == VariableKind::parameter && options.name.starts_with(prefix))
      out.emplace_back(*node);
  }
  return out;
}

}  // namespace belfry
