#include "random_subject.h"

#include <string_view>

#include "belfry/framework/ops/ops.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::random_models {

Subject::Subject(std::uint64_t seed, DType floating, Graph::InputRule rule)
    : seed_(seed), floating_(floating) {
  if (rule) graph_.set_input_rule(std::move(rule));
  GraphOptions options{.seed = seed, .floating = floating};
  for (const auto& [name, type] : input_types(options, 1)) input(graph_, name, type);
  Model model = build(Scope(graph_), options,
                      [&](const std::string& name) { return Tensor(*graph_.find_input(name)); });
  outputs_ = model.outputs, whole_ = model.whole;
  xs_ = model.differentiable;
  for (Node* v : graph_.variables())
    if (v->as<VariableOptions>().kind == VariableKind::parameter) xs_.push_back(Tensor(*v));
  loss_ = weighted_sum();
  if (seed % 4 == 1) add_gradient_penalty();
  for (const Tensor& g : gradients(loss_, xs_)) {
    present_.push_back(g.defined());
    if (g.defined()) gradients_.push_back(g);
  }
}

Subject::Feed Subject::feed(double fraction, std::uint64_t draw) const {
  Feed out;
  for (const auto& node : graph_) {
    bool variable = node->is(variable_op);
    if (!variable && !node->is(input_op)) continue;
    std::string name = variable ? node->as<VariableOptions>().name : node->as<InputOptions>().name;
    if (name.starts_with("run/")) continue;
    Array elements = elements_of(seed_, name, node->output());
    if (fraction != 0 && is_floating(node->output().dtype) && name != "exact") {
      PhiloxStream random(philox_key(seed_ + 1000 * draw, concat(name, " changed")));
      for (double& x : elements.span<double>()) x *= 1 + (random.below(2) ? fraction : -fraction);
    }
    out[name] = elements.cast(node->output().dtype);
  }
  return out;
}

// Different weights for the elements, so that errors in different places do not cancel.
Tensor Subject::weighted_sum() {
  Tensor total;
  DType wide = floating_ == DType::f64 ? DType::f64 : DType::f32;
  for (const Tensor& y : outputs_) {
    Array weights = elements_of(seed_, "weights", {y.shape(), DType::f64});
    Tensor term = sum(mul(cast(y, wide), constant(graph_, weights.cast(wide))));
    total = total.defined() ? add(total, term) : term;
  }
  return total;
}

// Where all ops have second derivatives, the sum of squares of the gradients joins the loss.
void Subject::add_gradient_penalty() {
  std::vector<Tensor> squares;
  for (const Tensor& g : gradients(loss_, xs_))
    if (g.defined()) squares.push_back(cast(mean(square(g)), loss_.dtype()));
  if (squares.empty()) return;
  Tensor penalised = loss_ + mean(stack(squares)) * 0.25;
  try {
    gradients(penalised, xs_);
  } catch (const Error& error) {  // the nodes of the penalty are dead code then
    if (std::string_view(error.what()).find(" has no gradient; ") == std::string_view::npos) throw;
    return;
  }
  loss_ = penalised, is_penalised_ = true;
}

}  // namespace belfry::random_models
