#include "belfry/framework/runtime/executable.h"

#include <array>
#include <cmath>

namespace belfry {

struct Executable::Launch {
  Kernel* kernel;
  KernelArguments arguments;
};

Executable::Executable(std::shared_ptr<const Plan> plan, VariableStore& variables,
                       std::uint64_t seed)
    : plan_(std::move(plan)), variables_(variables), stream_(variables.device().make_stream()) {
  Device& device = variables_.device();
  for (const Node* v : plan_->variables)
    variable_addresses_.push_back(variables_.get_or_create(v->as<VariableOptions>(), seed).data());
  for (const Node* n : plan_->inputs)
    inputs_.push_back(
        device.allocate(Bytes(n->output().bytes()), "input " + n->as<InputOptions>().name));
  for (const Node* n : plan_->constants) {
    const Array& value = n->as<ConstantOptions>().value;
    constants_.push_back(device.allocate(Bytes(value.bytes()), "constant"));
    stream_->copy_to_device(constants_.back().data(), value.raw(), Bytes(value.bytes()));
  }
  arena_ = device.allocate(Bytes(plan_->arena_bytes), "the step's arena");

  std::size_t operands = 0;
  for (const Instruction& i : plan_->instructions) operands += i.inputs.size() + i.outputs.size();
  addresses_.reserve(operands);  // launches point into it: it must not move
  auto append = [&](const std::vector<Location>& locations) -> std::span<void* const> {
    std::size_t begin = addresses_.size();
    for (const Location& l : locations) addresses_.push_back(address(l));
    return {addresses_.data() + begin, locations.size()};
  };
  for (const Instruction& i : plan_->instructions) {
    auto in = append(i.inputs), out = append(i.outputs);
    launches_.push_back({i.kernel.get(), {in, out, address(i.workspace)}});
  }
  for (const Tensor& t : plan_->program.outputs) outputs_.emplace_back(t.type());
  stream_->synchronize();
}

Executable::~Executable() = default;

void* Executable::address(const Location& location) const {
  auto i = static_cast<std::size_t>(location.position);
  switch (location.kind) {
    case Location::Kind::none:
      return nullptr;
    case Location::Kind::arena:
      return arena_.data() + location.position;
    case Location::Kind::variable:
      return variable_addresses_[i];
    case Location::Kind::input:
      return inputs_[i].data();
    case Location::Kind::constant:
      return constants_[i].data();
  }
  return nullptr;
}

void Executable::feed(const Features& batch, const StepState& state) {
  std::array<std::int64_t, 3> random{static_cast<std::int64_t>(state.seed), state.step,
                                     state.first_row};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto& options = plan_->inputs[i]->as<InputOptions>();
    const void* from = nullptr;
    if (options.name == global_step_input) {
      from = &state.step;
    } else if (options.name == random_state_input) {
      from = random.data();
    } else {
      const Array& value = batch.at(options.name);
      require(value.type() == options.type, "feature `", options.name, "` is ", value.type(),
              " but the plan was compiled for ", options.type);
      from = value.raw();
    }
    stream_->copy_to_device(inputs_[i].data(), from, inputs_[i].size());
  }
}

void Executable::check_results(std::size_t launch) const {
  const Instruction& instruction = plan_->instructions[launch];
  if (instruction.pack || !variables_.device().host_accessible()) return;
  for (std::size_t o = 0; o < instruction.outputs.size(); ++o) {
    const TensorType& type = instruction.node->output(static_cast<int>(o));
    if (!is_floating(type.dtype)) continue;
    // A view that owns nothing: the memory is the arena's.
    Array view(type, launches_[launch].arguments.outputs[o], std::shared_ptr<void>());
    for (std::int64_t i = 0; i < view.elements(); ++i)
      require(std::isfinite(view.at(i)), instruction.node->op().name, ": element ", i,
              " of output ", o, " (", type, ") is ", view.at(i));
  }
}

void Executable::launch(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    try {
      launches_[i].kernel->run(launches_[i].arguments, *stream_);
      if (check_numerics_) check_results(i);
    } catch (Error& error) {
      const std::string& scope = plan_->instructions[i].node->scope();
      if (!scope.empty()) error.add_context("at " + scope);
      throw;
    }
  }
}

// Outputs are fetched before the effects: one that is a variable has its value before the step.
void Executable::run(const Features& batch, const StepState& state) {
  stream_->activate(plan_->threads);
  feed(batch, state);
  auto first_effect = static_cast<std::size_t>(plan_->first_effect);
  launch(0, first_effect);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    stream_->copy_to_host(outputs_[i].raw(), address(plan_->outputs[i]),
                          Bytes(outputs_[i].bytes()));
  launch(first_effect, launches_.size());
  stream_->synchronize();
}

}  // namespace belfry
