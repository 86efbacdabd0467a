#include "belfry/models/frozen.h"

#include <algorithm>

#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/train/state/checkpoint_at.h"

namespace belfry::models {
namespace {

// Nodes are made in the type that is asked for.
class WithoutInputRule {
 public:
  explicit WithoutInputRule(Graph& graph) : graph_(graph), rule_(graph.set_input_rule({})) {}
  ~WithoutInputRule() { graph_.set_input_rule(std::move(rule_)); }
  WithoutInputRule(const WithoutInputRule&) = delete;
  WithoutInputRule& operator=(const WithoutInputRule&) = delete;

 private:
  Graph& graph_;
  Graph::InputRule rule_;
};

// The input of this name, for example the state of random numbers.
Tensor input_like(Graph& graph, const InputOptions& wanted) {
  Node* found = graph.find_input(wanted.name);
  return found ? Tensor(*found) : input(graph, wanted.name, wanted.type);
}

}  // namespace

Frozen::Frozen(FrozenOptions options)
    : model_fn_(std::move(options.model_fn)),
      feature_(std::move(options.feature)),
      path_(std::move(options.checkpoint)) {
  require(model_fn_, "frozen: there is no model_fn; set FrozenOptions::model_fn");
  weights_ =
      with_context("in FrozenOptions::checkpoint", [&] { return checkpoint_at(path_).variables; });
}

Tensor Frozen::Predictions::at(std::string_view name) const {
  for (const auto& [known, tensor] : items_)
    if (known == name) return tensor;
  std::vector<std::string> names;
  for (const auto& [known, tensor] : items_) names.push_back(known);
  fail("frozen: there is no prediction `", name, "`; the model has ", join(names, ", "));
}

bool Frozen::Predictions::contains(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const auto& item) { return item.first == name; });
}

const Array& Frozen::weight(const VariableOptions& wanted) const {
  auto found = weights_.find(wanted.name);
  constexpr std::string_view remedy = "; give the model_fn that was trained";
  require(found != weights_.end(), "frozen: ", describe_checkpoint_at(path_), " has no variable `",
          wanted.name, "`, which the model asks for", remedy);
  require(found->second.type() == wanted.type, "frozen: ", describe_checkpoint_at(path_),
          " has variable `", wanted.name, "` as ", found->second.type(), " but the model asks for ",
          wanted.type, remedy);
  return found->second;
}

// The tensors that stand for the outputs of a node of the model's own graph, of which earlier nodes
// are copied.
std::vector<Tensor> Frozen::copy(const Node& old, Tensor data, const Copies& copies) const {
  Graph& graph = data.graph();
  if (old.is(input_op)) {
    const auto& wanted = old.as<InputOptions>();
    return {wanted.name == feature_ ? data : input_like(graph, wanted)};
  }
  std::string scope = old.scope().empty() ? "frozen" : concat("frozen/", old.scope());
  Placement place{scope, data.node().device(), Phase::forward};
  Graph::PlacementGuard guard(graph, place);
  if (old.is(variable_op)) return {constant(graph, weight(old.as<VariableOptions>()))};
  std::vector<Tensor> inputs;
  for (const Tensor& t : old.inputs()) inputs.push_back(copies[t.node().id()][t.index()]);
  return outputs_of(graph.add(old.op(), std::move(inputs), old.options(), place));
}

// The model is built in a graph of its own, of which what the predictions need is copied to that of
// the data.
Frozen::Predictions Frozen::operator()(Tensor data) const {
  WithoutInputRule guard(data.graph());
  if (data.dtype() == DType::bf16 || data.dtype() == DType::f16) data = cast(data, DType::f32);
  Graph own;
  EstimatorSpec spec = model_fn_(Scope(own), Batch(own, {{feature_, data.type()}}), Mode::predict);
  validate(spec, Mode::predict);
  std::vector<Tensor> outputs;
  for (const auto& [name, prediction] : spec.predictions) outputs.push_back(prediction);
  auto live = live_nodes(own, outputs, {});
  Copies copies(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (live[i]) copies[i] = copy(own.node(i), data, copies);
  for (auto& [name, prediction] : spec.predictions)
    prediction = copies[prediction.node().id()][prediction.index()];
  return Predictions(std::move(spec.predictions));
}

}  // namespace belfry::models
