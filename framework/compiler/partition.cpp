#include <algorithm>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

bool is_everywhere(const Node& node) { return node.is(input_op) || node.is(constant_op); }

bool is_effect(const Node& node) { return node.op().mutates != nullptr; }

int device_of(const Node& node) {
  return is_effect(node) ? node.input(node.mutated()[0]).node().device() : node.device();
}

class Partitioner {
 public:
  Partitioner(const Program& program, int devices) : program_(program) {
    for (int s = 0; s < devices; ++s) {
      out_.programs.push_back({std::make_unique<Graph>(), {}, {}});
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
          copy(*node, device_of(*node));
    for (const Node* root : program_.effects) {
      int device = device_of(*root);
      at_device(device).effects.push_back(roots_[index(*root)]);
    }
    for (const Tensor& t : program_.outputs) {
      int device = is_everywhere(t.node()) ? 0 : device_of(t.node());
      auto& outputs = at_device(device).outputs;
      out_.outputs.push_back({device, static_cast<int>(outputs.size())});
      outputs.push_back(at(t, device));
    }
    return std::move(out_);
  }

 private:
  static std::size_t index(const Node& node) { return node.id(); }
  Program& at_device(int device) { return out_.programs[device]; }

  // The tensors that stand for a node's outputs on a device; undefined where nobody has asked yet.
  std::vector<Tensor>& copies(const Node& node, int device) {
    auto& made = copies_[device][index(node)];
    made.resize(node.outputs().size());
    return made;
  }

  void copy(const Node& node, int device) {
    for (int i : node.mutated())
      ensure(node.input(i).node().device() == device, node, " writes variables of several devices");
    std::vector<Tensor> inputs;
    for (const Tensor& t : node.inputs()) inputs.push_back(at(t, device));
    Node& made =
        at_device(device).graph->add(node.op(), std::move(inputs), node.options(),
                                     {node.scope(), device, node.phase(), node.first_row()});
    copies(node, device) = outputs_of(made);
    roots_[index(node)] = &made;
  }

  Tensor at(const Tensor& t, int device) {
    const Node& node = t.node();
    std::size_t i = t.index();
    Tensor known = copies(node, device)[i];
    if (known.defined()) return known;
    bool leaf = is_everywhere(node) || (node.is(variable_op) && device_of(node) == device);
    if (!leaf) return copies(node, device)[i] = received(t, device);
    copy(node, device);
    return copies(node, device)[i];
  }

  Tensor received(const Tensor& t, int device) {
    const Node& node = t.node();
    int from = device_of(node);
    std::string name = concat(node.scope(), node.scope().empty() ? "" : "/", node.op().name);
    if (node.is(variable_op)) name = node.as<VariableOptions>().name;
    TransferOptions options{next_number_++, from, device, std::move(name), t.type()};
    Node& send = at_device(from).graph->add(send_op, {at(t, from)}, options,
                                            {node.scope(), from, node.phase()});
    at_device(from).effects.push_back(&send);
    return Tensor(at_device(device).graph->add(receive_op, {}, std::move(options),
                                               {node.scope(), device, node.phase()}));
  }

  const Program& program_;
  Partition out_;
  std::vector<std::vector<std::vector<Tensor>>> copies_;  // by device, by node id, by output
  std::vector<Node*> roots_ = std::vector<Node*>(program_.graph->size());
  int next_number_ = 0;
};

}  // namespace

Partition partition(const Program& program, int devices) {
  return Partitioner(program, devices).run();
}

void check_devices(std::span<const Tensor> outputs, std::span<Node* const> effects, int devices) {
  if (outputs.empty() && effects.empty()) return;
  const Graph& graph = outputs.empty() ? effects[0]->graph() : outputs[0].graph();
  auto live = live_nodes(graph, outputs, effects);
  for (const auto& node : graph) {
    if (!live[node->id()] || is_everywhere(*node)) continue;
    require(device_of(*node) < devices, "device ", device_of(*node), " is asked for by ", *node,
            ", but a tower has ", devices, devices == 1 ? " device" : " devices",
            "; give each entry of RunConfig::devices ", device_of(*node) + 1,
            " devices, joined by + as in cpu:0+cpu:1, or call on() with a device below ", devices);
  }
}

}  // namespace belfry
