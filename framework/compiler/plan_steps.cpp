#include "belfry/framework/compiler/plan_steps.h"

#include <algorithm>
#include <set>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

using Role = Instruction::Role;

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

std::vector<int> only_read(const Node& node) {
  std::vector<int> written = node.mutated(), out;
  for (int i = 0; i < std::ssize(node.inputs()); ++i)
    if (std::find(written.begin(), written.end(), i) == written.end()) out.push_back(i);
  return out;
}

}  // namespace

PlanSteps::PlanSteps(Plan& plan, Device& device, const CompileOptions& options)
    : plan_(plan),
      device_(device),
      options_(options),
      values_of_(plan.program.graph->size()),
      uses_(use_counts(plan.program)),
      read_before_effects_(plan.program.graph->size()),
      cast_to_f32_(plan.program.graph->size()) {
  std::vector<const Node*> order = execution_order(plan_.program);
  describe_work(order);
  auto effects = std::find_if(order.begin(), order.end(), writes_variables);
  for (auto node = order.begin(); node != effects; ++node)
    for (const Tensor& t : (*node)->inputs()) {
      read_before_effects_[t.node().id()] = true;
      if ((*node)->is(cast_op) && (*node)->output().dtype == DType::f32)
        cast_to_f32_[t.node().id()] = true;
    }
  for (auto node = order.begin(); node != effects; ++node) add_node(**node);
  make_what_is_read({effects, order.end()});
  finish_collectives(under_way_.size());
  keep_old_values({effects, order.end()});
  plan_.first_effect = steps_.size();
  for (auto node = effects; node != order.end(); ++node) add_node(**node);
}

void PlanSteps::describe_work(const std::vector<const Node*>& order) {
  double again = 0;
  for (const Node* node : order) {
    if (!node->op().flops) continue;
    plan_.flops += node->op().flops(*node);
    if (node->phase() == Phase::recompute) again += node->op().flops(*node);
  }
  plan_.staged = device_.asynchronous();
  plan_.tf32 = options_.tf32;
  plan_.limits = device_.limits();
  // Bits depend on the number of threads, and not on what is computed again.
  plan_.threads = device_.threads_for(plan_.flops - again, options_.threads);
}

std::vector<TransferEnd> PlanSteps::transfer_ends() const {
  std::vector<TransferEnd> out;
  for (int i = 0; i < std::ssize(steps_); ++i) {
    const Instruction& end = steps_[i].instruction;
    if (end.role == Role::send || end.role == Role::receive)
      out.push_back({end.node->as<TransferOptions>().number, i, end.role == Role::send});
  }
  return out;
}

void PlanSteps::add_node(const Node& node) {
  auto& values = values_of_[node.id()];
  if (node.op().view) {
    values = {value_of(node.input(0))};
  } else if (node.is(input_op)) {
    add_leaf(node, plan_.inputs, Location::Kind::input);
  } else if (node.is(variable_op)) {
    add_leaf(node, plan_.variables, Location::Kind::variable);
  } else if (node.is(constant_op)) {
    add_leaf(node, plan_.constants, Location::Kind::constant);
  } else if (node.is(receive_op)) {
    plan_.receives.push_back(&node);
    values = {add_value({{}, node.output(), node.output().bytes(), &node, MemoryUse::received})};
    add_transfer(node, Role::receive);
  } else if (node.is(send_op)) {
    finish_what_is_read(node);
    make(value_of(node.input(0)));
    add_transfer(node, Role::send);
  } else if (!defer_cast(node)) {
    add_kernel(node);
  }
}

void PlanSteps::add_leaf(const Node& node, std::vector<const Node*>& list, Location::Kind kind) {
  Location location{kind, std::ssize(list)};
  list.push_back(&node);
  values_of_[node.id()] = {add_value({location, node.output(), 0, &node})};
}

void PlanSteps::add_transfer(const Node& node, Role role) {
  PlanStep step;
  step.instruction.node = &node;
  step.instruction.role = role;
  for (const Tensor& t : node.inputs()) step.inputs.push_back(value_of(t));
  if (role == Role::receive) step.outputs = values_of_[node.id()];
  steps_.push_back(std::move(step));
}

void PlanSteps::add_kernel(const Node& node) {
  finish_what_is_read(node);
  std::vector<int> inputs;
  for (const Tensor& t : node.inputs()) inputs.push_back(value_of(t));
  if (writes_variables(&node))
    for (int i : only_read(node))
      if (auto old = old_values_.find(inputs[i]); old != old_values_.end()) inputs[i] = old->second;
  for (int i = 0; i < std::ssize(node.outputs()); ++i) add_output(node, i);
  auto kernel = with_context(to_string(node), [&] { return kernel_for(node); });
  add_step(node, std::move(inputs), values_of_[node.id()], std::move(kernel));
}

void PlanSteps::add_step(const Node& node, std::vector<int> inputs, std::vector<int> outputs,
                         std::shared_ptr<Kernel> kernel) {
  PlanStep step;
  step.instruction.node = &node;
  if (node.op().collective) {
    step.instruction.role = Role::start;
    under_way_.push_back(&node);
  }
  for (const PackedInput& packed : kernel->packed_inputs())
    inputs[packed.input] = packed_value(node, inputs[packed.input], packed);
  for (int input : inputs) make(input);
  int result = outputs.empty() ? nobody : outputs[0];
  if (auto left = kernel->packed_output()) {
    int packed = add_value({{}, node.output(), left->size.count, &node, use_of(node.phase())});
    deferred_[result] = {&node, packed, left->unpack, left->unpack_to_f32};
    outputs[0] = packed;
  }
  step.instruction.kernel = std::move(kernel);
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  steps_.push_back(std::move(step));
  bool waits_for_cast = cast_to_f32_[node.id()] && uses_[node.id()][0] == 1;
  if (!gathers() && !waits_for_cast) make(result);
}

std::shared_ptr<Kernel> PlanSteps::kernel_for(const Node& node) {
  if (options_.fast)
    if (auto kernel =
            device_.find_kernel(node, {.threads = plan_.threads,
                                       .tf32 = options_.tf32,
                                       .exact_convolutions = options_.exact_convolutions}))
      return kernel;
  require(device_.host_accessible() && node.op().reference, node.op().name,
          ": there is no kernel on ", device_.name(), " for ", join(node.outputs(), ", "),
          node.scope().empty() ? "" : " (at " + node.scope() + ")");
  return make_reference_kernel(node);
}

int PlanSteps::add_value(PlanValue value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int PlanSteps::add_output(const Node& node, int i) {
  const TensorType& type = node.output(i);
  values_of_[node.id()].push_back(add_value({{}, type, type.bytes(), &node, use_of(node.phase())}));
  return values_of_[node.id()].back();
}

// Effects are about to change the variables that deferred casts read.
void PlanSteps::make_what_is_read(const std::vector<const Node*>& effects) {
  auto make_if_there = [&](const Tensor& t) {
    if (!values_of_[t.node().id()].empty()) make(value_of(t));
  };
  for (const Node* effect : effects)
    for (const Tensor& t : effect->inputs()) make_if_there(t);
  for (const Tensor& t : plan_.program.outputs) make_if_there(t);
  deferred_.clear();
  deferring_ = false;
}

bool PlanSteps::goes_with_others(const std::shared_ptr<Kernel>& kernel) const {
  return gathers() && device_.together({&kernel, 1}) != nullptr;
}

bool PlanSteps::defer_cast(const Node& node) {
  if (!node.is(cast_op) || !deferring_) return false;
  int from = value_of(node.input(0));
  return defer_part_of_unpacking(node, from) || defer_cast_of_weights(node, from)
         || defer_cast_of_gradient(node, from);
}

// A cast of what a kernel has left packed is part of the unpacking.
bool PlanSteps::defer_part_of_unpacking(const Node& node, int from) {
  auto left = deferred_.find(from);
  if (left == deferred_.end() || !left->second.unpack_to_f32 || node.output().dtype != DType::f32
      || left->second.node != &node.input(0).node() || uses_[left->second.node->id()][0] != 1)
    return false;
  Deferred gradient = left->second;
  deferred_.erase(left);
  gradient.node = &node;
  gradient.unpack = std::exchange(gradient.unpack_to_f32, nullptr);
  int value = add_output(node, 0);
  deferred_[value] = gradient;
  if (!gathers()) make(value);  // else both forms of all gradients are there at the end
  return true;
}

// A cast of weights waits until somebody reads it: that may be a pack, which casts as well.
bool PlanSteps::defer_cast_of_weights(const Node& node, int from) {
  bool of_weights = values_[from].leaf.kind == Location::Kind::variable
                    && values_[from].type.dtype == DType::f32 && size_of(node.output().dtype) == 2;
  if (of_weights) deferred_[add_output(node, 0)] = {.node = &node, .from = from};
  return of_weights;
}

// A cast of a gradient that only updates read waits for them.
bool PlanSteps::defer_cast_of_gradient(const Node& node, int from) {
  if (node.phase() != Phase::backward || node.output().dtype != DType::f32
      || read_before_effects_[node.id()] || values_[from].leaf.kind != Location::Kind::none
      || deferred_.contains(from) || device_.host_accessible())
    return false;
  // It would be read before the reduction is finished.
  if (const Node* maker = values_[from].maker; !maker || maker->op().collective) return false;
  auto kernel = kernel_for(node);
  if (!goes_with_others(kernel)) return false;
  deferred_[add_output(node, 0)] = {.node = &node, .from = from, .unpack = std::move(kernel)};
  return true;
}

// Makes a value if it was deferred: a cast with others of weights, where it goes with them, and all
// gradients that wait at once.
void PlanSteps::make(int value) {
  auto found = deferred_.find(value);
  if (found == deferred_.end()) return;
  if (found->second.unpack) return unpack_all();
  Deferred cast = found->second;
  deferred_.erase(found);
  auto kernel = kernel_for(*cast.node);
  // A value that is computed again is not to be there from the beginning.
  if (cast.node->phase() == Phase::recompute || !goes_with_others(kernel))
    return add_step(*cast.node, {cast.from}, {value}, std::move(kernel));
  prepare({values_[cast.from].maker, cast.from, value, std::move(kernel)}, &packs_);
}

void PlanSteps::unpack_all() {
  std::vector<int> steps;
  for (const auto& [value, left] : deferred_)
    if (left.unpack) prepare({left.node, left.from, value, left.unpack}, &steps);
  std::erase_if(deferred_, [](const auto& left) { return left.second.unpack != nullptr; });
}

int PlanSteps::packed_value(const Node& node, int value, const PackedInput& packed) {
  std::shared_ptr<Kernel> pack = packed.pack;
  if (auto cast = deferred_.find(value);
      cast != deferred_.end() && !cast->second.unpack && packed.pack_uncast) {
    value = cast->second.from;
    pack = packed.pack_uncast;
  }
  make(value);
  DType dtype = node.input(packed.input).dtype();
  Packed& known = packed_[{value, concat(packed.layout, " ", dtype)}];
  int now = steps_.size();
  bool far = memory_is_short() && now - known.last_use > far_apart;
  if (known.value == nobody || far)
    known.value =
        add_preparation(node, value, MemoryUse::packed_weights, std::move(pack), packed.size.count);
  known.last_use = now;
  return known.value;
}

// For `reader`. Weights are packed together where steps gather.
int PlanSteps::add_preparation(const Node& reader, int value, MemoryUse use,
                               std::shared_ptr<Kernel> kernel, std::int64_t bytes) {
  const PlanValue& from = values_[value];
  const Node* source = from.maker ? from.maker : &reader;
  bool together = from.leaf.kind == Location::Kind::variable && gathers();
  int made = add_value({{}, from.type, bytes, source, use});
  prepare({source, value, made, std::move(kernel)}, together ? &packs_ : nullptr);
  return made;
}

// Adds it to one of these steps, if a kernel does both, or as a step of its own.
void PlanSteps::prepare(Preparation one, std::vector<int>* steps) {
  PlanStep* step = nullptr;
  if (steps)
    for (int i : *steps)
      if (auto both = device_.together(std::vector{steps_[i].instruction.kernel, one.kernel})) {
        step = &steps_[i];
        step->instruction.kernel = both;
        break;
      }
  if (!step) {
    if (steps) steps->push_back(steps_.size());
    step = &steps_.emplace_back();
    step->instruction.kernel = std::move(one.kernel);
    step->instruction.node = one.node;
    step->instruction.role = Role::pack;
  }
  for (int value : {one.from, one.made}) {
    const PlanValue& v = values_[value];
    step->instruction.packed_bytes +=
        v.leaf.kind == Location::Kind::none ? v.bytes : v.type.bytes();
  }
  step->inputs.push_back(one.from);
  step->outputs.push_back(one.made);
}

// Effects too read variables as they were before the step: what is overwritten by the time an
// effect reads it is copied beforehand.
void PlanSteps::keep_old_values(const std::vector<const Node*>& effects) {
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

// Ends the reductions up to and with number `count` - 1 of those under way.
void PlanSteps::finish_collectives(int count) {
  for (; count > 0; --count) {
    PlanStep step;
    step.instruction.node = under_way_.front();
    step.instruction.role = Role::finish;
    step.inputs = values_of_[step.instruction.node->id()];
    steps_.push_back(std::move(step));
    under_way_.pop_front();
  }
}

void PlanSteps::finish_what_is_read(const Node& node) {
  for (const Tensor& t : node.inputs()) {
    const Node* maker = values_[value_of(t)].maker;
    auto found = std::find(under_way_.begin(), under_way_.end(), maker);
    if (found != under_way_.end())
      finish_collectives(static_cast<int>(found - under_way_.begin()) + 1);
  }
}

}  // namespace belfry
