
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "belfry/framework/compiler/memory_planner.h"
#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

constexpr int nobody = -1;

// Where memory is short, what was packed so many instructions ago is packed again, for the next
// micro-batch say, in place of being kept.
constexpr int far_apart = 64;

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(Bytes size) : size_(size) {}
  std::string_view implementation() const override { return "copy"; }
  void run(const KernelArguments& arguments, Stream& stream) override {
    stream.copy_on_device(arguments.outputs[0], arguments.inputs[0], size_);
  }

 private:
  Bytes size_;
};

// A value that lives in the arena, or at a leaf. Views share the value of what they view.
struct Value {
  Location leaf;  // kind none: the arena
  TensorType type;
  std::int64_t bytes = 0;
  const Node* maker = nullptr;
  MemoryUse use = MemoryUse::activation;
  int first = nobody;  // instruction that writes it
  int last = nobody;   // last instruction that reads it
  int block = nobody;
};

MemoryUse use_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return MemoryUse::activation;
    case Phase::recompute:
      return MemoryUse::recomputed;
    case Phase::backward:
      return MemoryUse::gradient;
    case Phase::update:
      break;
  }
  return MemoryUse::update;
}

std::string name_of(const Node& node) {
  return node.scope().empty() ? std::string(node.op().name)
                              : node.scope() + "/" + std::string(node.op().name);
}

class Builder {
 public:
  Builder(Program program, Device& device, const CompileOptions& options)
      : plan_(std::make_shared<Plan>()), device_(device), options_(options) {
    plan_->program = std::move(program);
    values_of_.resize(graph().size());
  }

  // Kernels in order.
  void make_steps() {
    std::vector<const Node*> order = execution_order(plan_->program);
    double again = 0;
    for (const Node* node : order) {
      if (!node->op().flops) continue;
      plan_->flops += node->op().flops(*node);
      if (node->phase() == Phase::recompute) again += node->op().flops(*node);
    }
    plan_->staged = device_.asynchronous();
    plan_->tf32 = options_.tf32;
    plan_->limits = device_.limits();
    // Bits depend on the number of threads, and not on what is computed again.
    plan_->threads = device_.threads_for(plan_->flops - again, options_.threads);
    auto effects = std::find_if(order.begin(), order.end(), writes_variables);
    for (auto node = order.begin(); node != effects; ++node) add_node(**node);
    finish_collectives(under_way_.size());
    keep_old_values({effects, order.end()});
    plan_->first_effect = steps_.size();
    for (auto node = effects; node != order.end(); ++node) add_node(**node);
  }

  std::vector<TransferEnd> transfer_ends() const {
    using Role = Instruction::Role;
    std::vector<TransferEnd> out;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (const auto& [kernel, node, role, in, o, w] = steps_[i].instruction;
          role == Role::send || role == Role::receive)
        out.push_back(
            {node->as<TransferOptions>().number, static_cast<int>(i), role == Role::send});
    return out;
  }

  // Gives all values their memory; `arrivals`: see memory_planner.h.
  std::shared_ptr<Plan> assign_memory(std::span<const int> arrivals) {
    find_lifetimes(arrivals);
    for (std::size_t i = 0; i < steps_.size(); ++i) assign_outputs(i);
    plan_->arena_bytes = assign_offsets(plan_->blocks);
    write_locations();
    return plan_;
  }

 private:
  // An instruction in terms of values.
  struct Step {
    Instruction instruction;
    std::vector<int> inputs, outputs;
    int workspace_block = nobody;
  };

  const Graph& graph() const { return *plan_->program.graph; }

  // Effects too read variables as they were before the step: what is overwritten by the time an
  // effect reads it is copied beforehand.
  void keep_old_values(const std::vector<const Node*>& effects) {
    std::set<int> overwritten;
    for (const Node* effect : effects) {
      for (int i : effect->mutated()) overwritten.insert(value_of(effect->input(i)));
      for (int i : only_read(*effect)) {
        int value = value_of(effect->input(i));
        if (!overwritten.contains(value) || old_values_.contains(value)) continue;
        Bytes size(values_[value].type.bytes());
        old_values_[value] = add_preparation(*effect, value, MemoryUse::update,
                                             std::make_shared<CopyKernel>(size), size.count);
      }
    }
  }

  static std::vector<int> only_read(const Node& node) {
    std::vector<int> written = node.mutated(), out;
    for (int i = 0; i < std::ssize(node.inputs()); ++i)
      if (std::find(written.begin(), written.end(), i) == written.end()) out.push_back(i);
    return out;
  }

  int value_of(const Tensor& t) const { return values_of_[t.node().id()][t.index()]; }

  void add_node(const Node& node) {
    auto& values = values_of_[node.id()];
    if (node.op().view) {
      values = {value_of(node.input(0))};
    } else if (node.is(input_op)) {
      add_leaf(node, plan_->inputs, Location::Kind::input);
    } else if (node.is(variable_op)) {
      add_leaf(node, plan_->variables, Location::Kind::variable);
    } else if (node.is(constant_op)) {
      add_leaf(node, plan_->constants, Location::Kind::constant);
    } else if (node.is(receive_op)) {
      plan_->receives.push_back(&node);
      values = {add_value({{}, node.output(), node.output().bytes(), &node, MemoryUse::received})};
      add_transfer(node, Instruction::Role::receive);
    } else if (node.is(send_op)) {
      finish_what_is_read(node);
      add_transfer(node, Instruction::Role::send);
    } else {
      add_kernel(node);
    }
  }

  void add_leaf(const Node& node, std::vector<const Node*>& list, Location::Kind kind) {
    Location location{kind, std::ssize(list)};
    list.push_back(&node);
    values_of_[node.id()] = {add_value({location, node.output(), 0, &node})};
  }

  void add_transfer(const Node& node, Instruction::Role role) {
    Step step;
    step.instruction.node = &node;
    step.instruction.role = role;
    for (const Tensor& t : node.inputs()) step.inputs.push_back(value_of(t));
    if (role == Instruction::Role::receive) step.outputs = values_of_[node.id()];
    steps_.push_back(std::move(step));
  }

  int add_value(Value value) {
    values_.push_back(std::move(value));
    return static_cast<int>(values_.size()) - 1;
  }

  std::shared_ptr<Kernel> kernel_for(const Node& node) {
    if (options_.fast)
      if (auto kernel =
              device_.find_kernel(node, {.threads = plan_->threads,
                                         .tf32 = options_.tf32,
                                         .exact_convolutions = options_.exact_convolutions}))
        return kernel;
    require(device_.host_accessible() && node.op().reference, node.op().name,
            ": there is no kernel on ", device_.name(), " for ", join(node.outputs(), ", "),
            node.scope().empty() ? "" : " (at " + node.scope() + ")");
    return make_reference_kernel(node);
  }

  // Ends the reductions up to and with number `count` - 1 of those under way.
  void finish_collectives(int count) {
    for (; count > 0; --count) {
      Step step;
      step.instruction.node = under_way_.front();
      step.instruction.role = Instruction::Role::finish;
      step.inputs = values_of_[step.instruction.node->id()];
      steps_.push_back(std::move(step));
      under_way_.pop_front();
    }
  }

  void finish_what_is_read(const Node& node) {
    for (const Tensor& t : node.inputs()) {
      const Node* maker = values_[value_of(t)].maker;
      auto found = std::find(under_way_.begin(), under_way_.end(), maker);
      if (found != under_way_.end())
        finish_collectives(static_cast<int>(found - under_way_.begin()) + 1);
    }
  }

  void add_kernel(const Node& node) {
    finish_what_is_read(node);
    Step step;
    step.instruction.node = &node;
    if (node.op().collective) {
      step.instruction.role = Instruction::Role::start;
      under_way_.push_back(&node);
    }
    step.instruction.kernel = with_context(to_string(node), [&] { return kernel_for(node); });
    for (const Tensor& t : node.inputs()) step.inputs.push_back(value_of(t));
    if (writes_variables(&node))
      for (int i : only_read(node)) {
        int& input = step.inputs[i];
        if (auto old = old_values_.find(input); old != old_values_.end()) input = old->second;
      }
    for (const PackedInput& packed : step.instruction.kernel->packed_inputs()) {
      int& input = step.inputs[packed.input];
      input = packed_value(node, input, packed);
    }
    auto& values = values_of_[node.id()];
    for (const TensorType& type : node.outputs())
      values.push_back(add_value({{}, type, type.bytes(), &node, use_of(node.phase())}));
    step.outputs = values;
    steps_.push_back(std::move(step));
  }

  int packed_value(const Node& node, int value, const PackedInput& packed) {
    Packed& known = packed_[{value, packed.layout}];
    int now = steps_.size();
    bool far = options_.recompute.most_bytes > 0 && now - known.last_use > far_apart;
    if (known.value == nobody || far)
      known.value =
          add_preparation(node, value, MemoryUse::packed_weights, packed.pack, packed.size.count);
    known.last_use = now;
    return known.value;
  }

  // A kernel that makes another form of a value, for `reader`.
  int add_preparation(const Node& reader, int value, MemoryUse use, std::shared_ptr<Kernel> kernel,
                      std::int64_t bytes) {
    const Value& from = values_[value];
    const Node* source = from.maker ? from.maker : &reader;
    int made = add_value({{}, from.type, bytes, source, use});
    Step step;
    step.instruction.kernel = std::move(kernel);
    step.instruction.node = source;
    step.instruction.role = Instruction::Role::pack;
    step.inputs = {value};
    step.outputs = {made};
    steps_.push_back(std::move(step));
    return made;
  }

  // A value that another device sends may be there long before it is waited for.
  void find_lifetimes(std::span<const int> arrivals) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Instruction& instruction = steps_[i].instruction;
      int first = i, last = first;
      if (instruction.role == Instruction::Role::receive)
        first = arrivals[instruction.node->as<TransferOptions>().number];
      for (int v : steps_[i].outputs) {
        values_[v].first = first;
        values_[v].last = last;
      }
      for (int v : steps_[i].inputs) values_[v].last = i;
    }
    int end = steps_.size();
    for (const Tensor& t : plan_->program.outputs) values_[value_of(t)].last = end;
  }

  void assign_outputs(int index) {
    Step& step = steps_[index];
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      Value& value = values_[step.outputs[o]];
      if (o == 0 || step.instruction.node->op().collective)
        value.block = block_taken_over(step, value, o, index);
      if (value.block == nobody) {
        value.block = add_block(name_of(*value.maker), value.use, value.type, value.bytes,
                                value.first, value.last);
      }
    }
    std::int64_t workspace =
        step.instruction.kernel ? step.instruction.kernel->workspace().count : 0;
    if (workspace > 0)
      step.workspace_block = add_block(name_of(*step.instruction.node), MemoryUse::workspace, {},
                                       workspace, index, index);
  }

  // The block of an input that dies here and that the output at `position` may overwrite while it
  // is read.
  int block_taken_over(const Step& step, const Value& output, int position, int index) {
    const Node& node = *step.instruction.node;
    if (step.instruction.role == Instruction::Role::pack) return nobody;
    std::vector<int> candidates =
        node.op().in_place ? node.op().in_place(node) : std::vector<int>{};
    if (node.op().collective) candidates = {position};
    if (node.op().elementwise)
      for (int i = 0; i < std::ssize(step.inputs); ++i) candidates.push_back(i);
    for (int i : candidates) {
      Value& input = values_[step.inputs[i]];
      bool dies_here = input.leaf.kind == Location::Kind::none && input.last == index;
      // A kernel that reads it elsewhere, too, would find it overwritten.
      if (!node.op().elementwise && std::ranges::count(step.inputs, step.inputs[i]) > 1) continue;
      if (!dies_here || input.type.shape != output.type.shape || input.bytes != output.bytes)
        continue;
      PlannedBlock& block = plan_->blocks[input.block];
      if (block.last > index) continue;  // another output has taken it
      block.last = output.last;
      return input.block;
    }
    return nobody;
  }

  int add_block(std::string name, MemoryUse use, const TensorType& type, std::int64_t bytes,
                int first, int last) {
    plan_->blocks.push_back({std::move(name), use, type, bytes, first, last, 0});
    return static_cast<int>(plan_->blocks.size()) - 1;
  }

  Location location(int value) const {
    const Value& v = values_[value];
    if (v.leaf.kind != Location::Kind::none) return v.leaf;
    return {Location::Kind::arena, plan_->blocks[v.block].offset};
  }

  void write_locations() {
    for (Step& step : steps_) {
      for (int v : step.inputs) step.instruction.inputs.push_back(location(v));
      for (int v : step.outputs) step.instruction.outputs.push_back(location(v));
      if (step.workspace_block != nobody)
        step.instruction.workspace = {Location::Kind::arena,
                                      plan_->blocks[step.workspace_block].offset};
      plan_->instructions.push_back(std::move(step.instruction));
    }
    for (const Tensor& t : plan_->program.outputs) plan_->outputs.push_back(location(value_of(t)));
  }

  std::shared_ptr<Plan> plan_;
  Device& device_;
  CompileOptions options_;
  std::vector<Step> steps_;
  std::vector<Value> values_;
  std::vector<std::vector<int>> values_of_;  // by node id, by output
  struct Packed {
    int value = nobody;
    int last_use = 0;
  };
  std::map<std::pair<int, std::string>, Packed> packed_;  // by value and layout
  std::deque<const Node*> under_way_;                     // reductions started and not finished
  std::map<int, int> old_values_;  // of variables that effects read after they are overwritten
};

}  // namespace

std::vector<std::shared_ptr<Plan>> build_plans(std::vector<Program> programs,
                                               std::span<Device* const> devices,
                                               const CompileOptions& options) {
  std::vector<Builder> builders;
  std::vector<std::vector<TransferEnd>> transfers;
  for (std::size_t s = 0; s < programs.size(); ++s) {
    builders.emplace_back(std::move(programs[s]), *devices[s], options).make_steps();
    transfers.push_back(builders.back().transfer_ends());
  }
  std::vector<int> arrive = arrivals(transfers);
  std::vector<std::shared_ptr<Plan>> plans;
  for (Builder& builder : builders) plans.push_back(builder.assign_memory(arrive));
  return plans;
}

}  // namespace belfry
