#include <algorithm>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

bool is_everywhere(const Node& node) { return node.is(input_op) || node.is(constant_op); }

bool is_effect(const Node& node) { return node.op().mutates != nullptr; }

int slot_of(const Node& node) {
  return is_effect(node) ? node.input(node.mutated()[0]).node().slot() : node.slot();
}

class Partitioner {
 public:
  Partitioner(const Program& program, int slots) : program_(program) {
    for (int s = 0; s < slots; ++s) {
      out_.slots.push_back({std::make_unique<Graph>(), {}, {}});
      copies_.emplace_back(program.graph->size());
    }
  }

  // Effects come last: what only they read is waited for when all else is done.
  Partition run() {
    auto live = live_nodes(*program_.graph, program_.outputs, program_.effects);
    for (bool effects : {false, true})
      for (const auto& node : *program_.graph)
        if (live[index(*node)] && is_effect(*node) == effects && !node->is(variable_op)
            && !is_everywhere(*node))
          copy(*node, slot_of(*node));
    for (const Node* root : program_.effects) {
      int slot = slot_of(*root);
      at_slot(slot).effects.push_back(roots_[index(*root)]);
    }
    for (const Tensor& t : program_.outputs) {
      int slot = is_everywhere(t.node()) ? 0 : slot_of(t.node());
      auto& outputs = at_slot(slot).outputs;
      out_.outputs.push_back({slot, static_cast<int>(outputs.size())});
      outputs.push_back(at(t, slot));
    }
    return std::move(out_);
  }

 private:
  static std::size_t index(const Node& node) { return node.id(); }
  Program& at_slot(int slot) { return out_.slots[slot]; }

  // The tensors that stand for a node's outputs on a slot; undefined where nobody has asked yet.
  std::vector<Tensor>& copies(const Node& node, int slot) {
    auto& made = copies_[slot][index(node)];
    made.resize(node.outputs().size());
    return made;
  }

  void copy(const Node& node, int slot) {
    for (int i : node.mutated())
      ensure(node.input(i).node().slot() == slot, node, " writes variables of several slots");
    std::vector<Tensor> inputs;
    for (const Tensor& t : node.inputs()) inputs.push_back(at(t, slot));
    Node& made = at_slot(slot).graph->add(node.op(), std::move(inputs), node.options(),
                                          {node.scope(), slot, node.phase(), node.first_row()});
    copies(node, slot) = outputs_of(made);
    roots_[index(node)] = &made;
  }

  Tensor at(const Tensor& t, int slot) {
    const Node& node = t.node();
    std::size_t i = t.index();
    Tensor known = copies(node, slot)[i];
    if (known.defined()) return known;
    bool leaf = is_everywhere(node) || (node.is(variable_op) && slot_of(node) == slot);
    if (!leaf) return copies(node, slot)[i] = received(t, slot);
    copy(node, slot);
    return copies(node, slot)[i];
  }

  Tensor received(const Tensor& t, int slot) {
    const Node& node = t.node();
    int from = slot_of(node);
    std::string name = concat(node.scope(), node.scope().empty() ? "" : "/", node.op().name);
    if (node.is(variable_op)) name = node.as<VariableOptions>().name;
    TransferOptions options{next_number_++, from, slot, std::move(name), t.type()};
    Node& send = at_slot(from).graph->add(send_op, {at(t, from)}, options,
                                          {node.scope(), from, node.phase()});
    at_slot(from).effects.push_back(&send);
    return Tensor(at_slot(slot).graph->add(receive_op, {}, std::move(options),
                                           {node.scope(), slot, node.phase()}));
  }

  const Program& program_;
  Partition out_;
  std::vector<std::vector<std::vector<Tensor>>> copies_;  // by slot, by node id, by output
  std::vector<Node*> roots_ = std::vector<Node*>(program_.graph->size());
  int next_number_ = 0;
};

}  // namespace

Partition partition(const Program& program, int slots) { return Partitioner(program, slots).run(); }

void check_slots(std::span<const Tensor> outputs, std::span<Node* const> effects, int slots) {
  if (outputs.empty() && effects.empty()) return;
  const Graph& graph = outputs.empty() ? effects[0]->graph() : outputs[0].graph();
  auto live = live_nodes(graph, outputs, effects);
  for (const auto& node : graph) {
    if (!live[node->id()] || is_everywhere(*node)) continue;
    require(slot_of(*node) < slots, "slot ", slot_of(*node), " is asked for by ", *node,
            ", but a tower has ", slots, slots == 1 ? " device slot" : " device slots",
            "; give each entry of RunConfig::devices ", slot_of(*node) + 1,
            " devices, joined by + as in cpu:0+cpu:1, or call on() with a slot below ", slots);
  }
}

}  // namespace belfry
