#include "belfry/framework/compiler/step_values.h"

#include <algorithm>
#include <functional>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

// A reduction takes part in those of the other towers once, and another device sends once.
bool can_be_again(const Node& node) {
  return !node.op().collective && !node.op().mutates && !node.is(receive_op);
}

}  // namespace

double seconds_to_compute(const Node& node, std::span<const Tensor> inputs,
                          const WorkRates& rates) {
  double bytes = 0;
  for (const Tensor& t : inputs) bytes += t.type().bytes();
  for (const TensorType& t : node.outputs()) bytes += t.bytes();
  double flops = node.op().flops ? node.op().flops(node) : 0;
  return flops / rates.flops + bytes / rates.bytes;
}

std::vector<int> may_overwrite(const Node& node) {
  std::vector<int> inputs = node.op().in_place ? node.op().in_place(node) : std::vector<int>{};
  if (node.op().elementwise)
    for (int i = 0; i < std::ssize(node.inputs()); ++i) inputs.push_back(i);
  return inputs;
}

std::vector<Tensor> StepValues::read_again(const Node& node) {
  std::vector<Tensor> inputs(node.inputs().begin(), node.inputs().end());
  if (!node.is(batch_norm_train_op)) return inputs;
  auto output = [&](int i) { return Tensor(const_cast<Node&>(node), i); };
  inputs.insert(inputs.begin() + 3, {output(1), output(3)});  // mean, inverse deviation
  return inputs;
}

Node& StepValues::add_again(Graph& graph, const Node& node, std::vector<Tensor> inputs) {
  Placement place{node.scope(), node.device(), Phase::recompute, node.first_row()};
  if (!node.is(batch_norm_train_op))
    return graph.add(node.op(), std::move(inputs), node.options(), place);
  const auto& o = node.as<BatchNormOptions>();
  return graph.add(batch_norm_recompute_op, std::move(inputs),
                   BatchNormRecomputeOptions{o.activation, o.residual}, place);
}

StepValues::StepValues(const Program& program, const WorkRates& rates)
    : numbers_(program.graph->size()), rates_(rates) {
  auto live = live_nodes(*program.graph, program.outputs, program.effects);
  for (const auto& owned : *program.graph) {
    const Node& node = *owned;
    std::size_t id = node.id();
    if (!live[id]) continue;
    if (node.op().view) {
      numbers_[id] = {value_of(node.input(0))};
      continue;
    }
    int position = order_.size();
    for (int i = 0; i < std::ssize(node.outputs()); ++i) {
      numbers_[id].push_back(values_.size());
      values_.push_back({.node = &node,
                         .bytes = node.output(i).bytes(),
                         .leaf = is_leaf(node),
                         .pinned = is_late(node) || !can_be_again(node),
                         .made = position});
      // The statistics of a batch are small, and are not computed again.
      if (node.is(batch_norm_train_op) && i > 0) values_.back().pinned = true;
    }
    if (is_leaf(node)) continue;
    order_.push_back(&node);
    step_seconds_ += seconds_to_compute(node, node.inputs(), rates_);
    for (const Tensor& t : node.inputs()) {
      Value& value = values_[value_of(t)];
      value.last_read = position;
      if (!is_late(node)) value.last_forward = position;
      if (is_late(node)) value.read_late = true;
      // Effects run at the end of the step.
      if (node.op().mutates && !is_late(node)) value.pinned = true;
    }
  }
  for (const Tensor& t : program.outputs) values_[value_of(t)].pinned = true;
}

int StepValues::value_of(const Tensor& t) const { return numbers_of(t.node())[t.index()]; }

double StepValues::seconds_of(const Value& value) const {
  return seconds_to_compute(*value.node, read_again(*value.node), rates_);
}

StepValues::Estimate StepValues::estimate(const Set& dropped) const {
  struct Life {
    int first = -1, last = -1;
  };
  std::vector<Life> kept(values_.size()), again(values_.size());
  auto life_of = [&](const Tensor& t, bool late) -> Life& {
    std::size_t v = value_of(t);
    return (late && dropped[v] ? again : kept)[v];
  };
  struct Step {
    const Node* node;
    bool late;
    int at, position;
  };
  std::vector<Step> steps;
  steps.reserve(order_.size());
  Estimate out;
  int position = 0;
  auto compute = [&](const Node& node, const std::vector<Tensor>& inputs, bool late) {
    int at = steps.size();
    steps.push_back({&node, late, at, position});
    for (const Tensor& t : inputs) life_of(t, late).last = at;
    for (int i = 0; i < std::ssize(node.outputs()); ++i)
      if (Life& life = life_of(Tensor(const_cast<Node&>(node), i), late); life.first < 0)
        life = {at, at};
  };
  std::function<void(const Tensor&)> have = [&](const Tensor& t) {
    std::size_t v = value_of(t);
    if (!dropped[v] || again[v].first >= 0) return;
    std::vector<Tensor> inputs = read_again(*values_[v].node);
    for (const Tensor& input : inputs) have(input);
    compute(*values_[v].node, inputs, true);
    if (values_[v].last_forward >= 0) out.seconds += seconds_of(values_[v]);
  };
  for (const Node* node : order_) {
    std::vector<Tensor> inputs(node->inputs().begin(), node->inputs().end());
    if (is_late(*node))
      for (const Tensor& t : inputs) have(t);
    compute(*node, inputs, is_late(*node));
    ++position;
  }
  // An output may take the place of an input that dies there.
  for (const Step& step : steps) {
    if (step.node->outputs().empty()) continue;
    Life& made = life_of(Tensor(const_cast<Node&>(*step.node), 0), step.late);
    // A batch_norm_train that runs again is a batch_norm_recompute.
    bool norm_again = step.late && step.node->is(batch_norm_train_op);
    for (int i : norm_again ? std::vector{0} : may_overwrite(*step.node)) {
      const Tensor& input = step.node->input(i);
      auto is_input = [&](const Tensor& t) { return value_of(t) == value_of(input); };
      if (!step.node->op().elementwise && std::ranges::count_if(step.node->inputs(), is_input) > 1)
        continue;
      bool dies = life_of(input, step.late).last == step.at && !is_leaf(input.node());
      if (made.first != step.at || !dies || input.type().bytes() != step.node->output(0).bytes())
        continue;
      ++made.first;
      break;
    }
  }
  std::vector<std::int64_t> change(steps.size() + 1);
  for (std::size_t i = 0; i < values_.size(); ++i)
    for (const Life& life : {kept[i], again[i]}) {
      if (values_[i].leaf || life.first < 0) continue;
      change[life.first] += values_[i].bytes;
      change[static_cast<std::size_t>(life.last) + 1] -= values_[i].bytes;
    }
  std::int64_t live = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if ((live += change[i]) > out.peak) out.peak = live, out.when = steps[i].position;
  return out;
}

}  // namespace belfry
