#include <algorithm>
#include <optional>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/plan_steps.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

constexpr int nobody = PlanValue::nobody;

std::string name_of(const Node& node) {
  return node.scope().empty() ? std::string(node.op().name)
                              : node.scope() + "/" + std::string(node.op().name);
}

class Builder {
 public:
  Builder(Program program, Device& device, const CompileOptions& options)
      : plan_(std::make_shared<Plan>()) {
    plan_->program = std::move(program);
    plan_steps_.emplace(*plan_, device, options);
  }

  std::vector<TransferEnd> transfer_ends() const { return plan_steps_->transfer_ends(); }

  // Gives all values their memory; `arrivals`: see memory_planner.h.
  std::shared_ptr<Plan> assign_memory(std::span<const int> arrivals) {
    find_lifetimes(arrivals);
    for (std::size_t i = 0; i < steps().size(); ++i) assign_outputs(i);
    plan_->arena_bytes = assign_offsets(plan_->blocks);
    write_locations();
    return plan_;
  }

 private:
  std::vector<PlanStep>& steps() { return plan_steps_->steps(); }
  std::vector<PlanValue>& values() { return plan_steps_->values(); }

  // A value that another device sends may be there long before it is waited for.
  void find_lifetimes(std::span<const int> arrivals) {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const Instruction& instruction = steps()[i].instruction;
      int first = i, last = first;
      if (instruction.role == Instruction::Role::receive)
        first = arrivals[instruction.node->as<TransferOptions>().number];
      for (int v : steps()[i].outputs) {
        values()[v].first = first;
        values()[v].last = last;
      }
      for (int v : steps()[i].inputs) values()[v].last = i;
    }
    int end = steps().size();
    for (const Tensor& t : plan_->program.outputs) values()[plan_steps_->value_of(t)].last = end;
  }

  void assign_outputs(int index) {
    PlanStep& step = steps()[index];
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      PlanValue& value = values()[step.outputs[o]];
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
  int block_taken_over(const PlanStep& step, const PlanValue& output, int position, int index) {
    const Node& node = *step.instruction.node;
    if (step.instruction.role == Instruction::Role::pack) return nobody;
    std::vector<int> candidates =
        node.op().in_place ? node.op().in_place(node) : std::vector<int>{};
    if (node.op().collective) candidates = {position};
    if (node.op().elementwise)
      for (int i = 0; i < std::ssize(step.inputs); ++i) candidates.push_back(i);
    for (int i : candidates) {
      PlanValue& input = values()[step.inputs[i]];
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

  Location location(int value) {
    const PlanValue& v = values()[value];
    if (v.leaf.kind != Location::Kind::none) return v.leaf;
    return {Location::Kind::arena, plan_->blocks[v.block].offset};
  }

  void write_locations() {
    for (PlanStep& step : steps()) {
      for (int v : step.inputs) step.instruction.inputs.push_back(location(v));
      for (int v : step.outputs) step.instruction.outputs.push_back(location(v));
      if (step.workspace_block != nobody)
        step.instruction.workspace = {Location::Kind::arena,
                                      plan_->blocks[step.workspace_block].offset};
      plan_->instructions.push_back(std::move(step.instruction));
    }
    for (const Tensor& t : plan_->program.outputs)
      plan_->outputs.push_back(location(plan_steps_->value_of(t)));
  }

  std::shared_ptr<Plan> plan_;
  std::optional<PlanSteps> plan_steps_;
};

}  // namespace

std::vector<std::shared_ptr<Plan>> build_plans(std::vector<Program> programs,
                                               std::span<Device* const> devices,
                                               const CompileOptions& options) {
  std::vector<Builder> builders;
  std::vector<std::vector<TransferEnd>> transfers;
  for (std::size_t s = 0; s < programs.size(); ++s) {
    builders.emplace_back(std::move(programs[s]), *devices[s], options);
    transfers.push_back(builders.back().transfer_ends());
  }
  std::vector<int> arrive = arrivals(transfers);
  std::vector<std::shared_ptr<Plan>> plans;
  for (Builder& builder : builders) plans.push_back(builder.assign_memory(arrive));
  return plans;
}

}  // namespace belfry
