#include "belfry/framework/runtime/executable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "belfry/framework/compiler/memory_planner.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {

namespace {

// Every sub-step draws as if the run had another seed.
std::uint64_t seed_of(const StepState& state) {
  return state.seed + state.sub_step * 0x9e3779b97f4a7c15;
}

// Whether it has a value: a moving average that was never updated holds zeros.
bool stands_in(const VariableStore& variables, const std::string& name) {
  if (!variables.contains(name)) return false;
  std::string count = name + "_count";
  return !variables.contains(count) || variables.read(count).item() > 0;
}

}  // namespace

struct Executable::Launch {
  const Instruction* instruction;
  KernelArguments arguments;
  std::shared_ptr<Collective> collective = {};  // of a start and its finish, if there are others
  int transfer = 0;                             // of a send or receive
  std::string range = {};                       // its name for the device's profiler
};

// Around what is enqueued for an instruction, whatever is thrown meanwhile.
class Executable::Range {
 public:
  Range(Stream& stream, const std::string& name) : stream_(stream) {
    stream_.push_range(name.c_str());
  }
  ~Range() { stream_.pop_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Stream& stream_;
};

Executable::Executable(std::shared_ptr<const Plan> plan, VariableStore& variables,
                       std::uint64_t seed, ExecutableOptions options)
    : plan_(std::move(plan)),
      variables_(variables),
      stream_(&variables_.stream()),
      arena_(variables_.arena()),
      scratch_(plan_->scratch_bytes()),
      member_(options.member),
      mailboxes_(options.mailboxes),
      may_capture_(options.capture) {
  Device& device = variables_.device();
  for (const Node* v : plan_->variables) {
    VariableOptions variable = v->as<VariableOptions>();
    if (std::string other = variable.name + options.variable_suffix;
        !options.variable_suffix.empty() && stands_in(variables_, other))
      variable.name = other;
    variable_addresses_.push_back(variables_.get_or_create(variable, seed).data());
  }
  for (const Node* n : plan_->constants) {
    const Array& value = n->as<ConstantOptions>().value;
    constants_.push_back(device.allocate(Bytes(value.bytes()), "constant"));
    stream_->copy_to_device(constants_.back().data(), value.raw(), Bytes(value.bytes()));
  }
  if (plan_->staged) staging_ = std::make_unique<Staging>(device, *plan_);
  bind_inputs();
  make_launches();
  bind();
  for (const Tensor& t : plan_->program.outputs) outputs_.emplace_back(t.type());
  stream_->synchronize();
}

void Executable::bind_inputs() {
  std::int64_t end = aligned(plan_->arena_bytes);
  for (const Node* n : plan_->inputs) {
    const std::string& name = n->as<InputOptions>().name;
    input_at_.push_back(end);
    end += aligned(n->output().bytes());
    Feed feed;
    if (name == global_step_input) {
      feed.kind = Feed::Kind::step;
    } else if (name == tower_weight_input) {
      feed.kind = Feed::Kind::weight;
    } else if (name == tower_index_input) {
      feed.kind = Feed::Kind::tower;
    } else if (name.starts_with(random_state_input)) {
      feed.kind = Feed::Kind::random;
      if (name.size() > random_state_input.size())
        feed.first_row = std::stoll(name.substr(random_state_input.size() + 1));
    }
    feeds_.push_back(feed);
  }
}

void Executable::make_launches() {
  std::size_t operands = 0;
  for (const Instruction& i : plan_->instructions) operands += i.inputs.size() + i.outputs.size();
  addresses_.resize(operands);  // launches point into it: it must not move
  void* const* next = addresses_.data();
  auto next_span = [&](std::size_t count) -> std::span<void* const> {
    next += count;
    return {next - count, count};
  };
  for (const Instruction& i : plan_->instructions) {
    auto in = next_span(i.inputs.size()), out = next_span(i.outputs.size());
    launches_.push_back({&i, {in, out}});
    const std::string& scope = i.node->scope();
    launches_.back().range = scope.empty() ? std::string(i.node->op().name) : scope;
    if (i.role == Instruction::Role::send || i.role == Instruction::Role::receive) {
      launches_.back().transfer = i.node->as<TransferOptions>().number;
      transfers_ = true;
    }
  }
}

void Executable::bind() {
  arena_->reserve(scratch_, *stream_);
  if (std::exchange(base_, arena_->data()) == arena_->data()) return;
  captured_.reset();
  enqueued_ = 0;
  auto next = addresses_.begin();
  std::map<const Node*, std::shared_ptr<Collective>> under_way;
  for (Launch& launch : launches_) {
    const Instruction& i = *launch.instruction;
    for (const Location& l : i.inputs) *next++ = address(l);
    for (const Location& l : i.outputs) *next++ = address(l);
    launch.arguments.workspace = address(i.workspace);
    if (staging_) launch.arguments.fault = staging_->fault();
    if (i.role == Instruction::Role::receive)
      mailboxes_->set_address(launch.transfer, launch.arguments.outputs[0]);
    if (!member_.communicator) continue;
    if (i.role == Instruction::Role::start) {
      bind_collective(launch);
      under_way[i.node] = launch.collective;
    }
    if (i.role == Instruction::Role::finish) launch.collective = under_way[i.node];
  }
}

void Executable::bind_collective(Launch& start) {
  const Node& node = *start.instruction->node;
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    segments.push_back({start.arguments.outputs[i], node.outputs()[i].shape.elements()});
  if (start.collective) return start.collective->move(segments);
  Bucket bucket{.name = node.as<AllReduceOptions>().name,
                .segments = std::move(segments),
                .dtype = node.output().dtype};
  start.collective = member_.communicator->all_reduce(member_.member, std::move(bucket));
}

void Executable::settle() noexcept {
  try {
    stream_->synchronize();
  } catch (const std::exception&) {
    // The step has failed already, and says why.
  }
}

// Waits for the device before anything goes that a step uses.
Executable::~Executable() { staging_.reset(); }

void* Executable::address(const Location& location) const {
  std::size_t i = location.position;
  switch (location.kind) {
    case Location::Kind::none:
      return nullptr;
    case Location::Kind::arena:
      return base_ + location.position;
    case Location::Kind::variable:
      return variable_addresses_[i];
    case Location::Kind::input:
      return staging_ ? staging_->input(i) : base_ + input_at_[i];
    case Location::Kind::constant:
      return constants_[i].data();
  }
  return nullptr;
}

void Executable::feed(const Features& batch, const StepState& state) {
  std::array<std::int64_t, 3> random{static_cast<std::int64_t>(seed_of(state)),
                                     state.draw_as_step_0 ? 0 : state.step, 0};
  std::int64_t tower = member_.tower;
  if (staging_) staging_->begin_step();
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    const void* from = nullptr;
    switch (feeds_[i].kind) {
      case Feed::Kind::step:
        from = &state.step;
        break;
      case Feed::Kind::weight:
        from = &state.weight;
        break;
      case Feed::Kind::tower:
        from = &tower;
        break;
      case Feed::Kind::random:
        random[2] = state.first_row + feeds_[i].first_row;
        from = random.data();
        break;
      case Feed::Kind::batch: {
        const auto& options = plan_->inputs[i]->as<InputOptions>();
        const Array& value = batch.at(options.name);
        require(value.type() == options.type, "feature `", options.name, "` is ", value.type(),
                " but the plan was compiled for ", options.type);
        if (staging_) {
          staging_->set_input(i, value);
          continue;
        }
        from = value.raw();
      }
    }
    auto bytes = Bytes(plan_->inputs[i]->output().bytes());
    if (staging_) {
      staging_->set_input(i, from, bytes);
    } else {
      stream_->copy_to_device(base_ + input_at_[i], from, bytes);
    }
  }
  if (staging_) staging_->upload(*stream_);
}

void Executable::check_results(const Launch& launch) const {
  using Role = Instruction::Role;
  const Instruction& instruction = *launch.instruction;
  bool has_results = instruction.role == Role::compute || instruction.role == Role::finish;
  if (!has_results || !variables_.device().host_accessible()) return;
  auto results =
      instruction.role == Role::finish ? launch.arguments.inputs : launch.arguments.outputs;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const TensorType& type = instruction.node->output(o);
    if (!is_floating(type.dtype)) continue;
    // A view that owns nothing: the memory is the arena's.
    Array view(type, results[o], std::shared_ptr<void>());
    for (std::int64_t i = 0; i < view.elements(); ++i)
      require(std::isfinite(view.at(i)), instruction.node->op().name, ": element ", i,
              " of output ", o, " (", type, ") is ", view.at(i));
  }
}

void Executable::execute(Launch& launch) {
  using Role = Instruction::Role;
  switch (launch.instruction->role) {
    case Role::compute:
    case Role::pack:
      launch.instruction->kernel->run(launch.arguments, *stream_);
      break;
    case Role::start:
      launch.instruction->kernel->run(launch.arguments, *stream_);  // where it is not in place
      if (!launch.collective) break;
      launch.collective->start(*stream_);
      if (reductions_under_way_++ == 0) reducing_since_ = steady_seconds();
      break;
    case Role::finish:
      if (launch.collective) finish(*launch.collective);
      break;
    case Role::send:
      mailboxes_->send(launch.transfer, launch.arguments.inputs[0], *stream_);
      break;
    case Role::receive:
      double before = steady_seconds();
      mailboxes_->receive(launch.transfer, *stream_);
      times_.transfer += steady_seconds() - before;
  }
}

void Executable::finish(Collective& collective) {
  double before = steady_seconds();
  times_.hidden_reduction += before - reducing_since_;
  collective.finish(*stream_);
  --reductions_under_way_;
  reducing_since_ = steady_seconds();
  times_.exposed_reduction += reducing_since_ - before;
}

void Executable::launch(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    try {
      Range range(*stream_, launches_[i].range);
      if (traced_) trace_->before(i, *stream_);
      execute(launches_[i]);
      if (traced_) trace_->after(i, *stream_);
      if (check_numerics_) check_results(launches_[i]);
    } catch (Error& error) {
      const Instruction& instruction = plan_->instructions[i];
      bool waited = instruction.role == Instruction::Role::finish
                    || instruction.role == Instruction::Role::receive;
      const Node& node = *instruction.node;
      if (!waited && !node.scope().empty()) error.add_context("at " + node.scope());
      if (node.first_row() > 0)
        error.add_context(concat("in a part whose row 0 is row ", node.first_row()));
      throw;
    }
  }
}

void Executable::begin_step(const StepState& state) {
  bind();
  times_ = {};
  reductions_under_way_ = 0;
  stream_->activate(plan_->threads);
  traced_ = state.trace;
  if (!traced_) return;
  if (!trace_) trace_ = std::make_unique<StepTrace>(variables_.device(), launches_.size());
  trace_->begin(*stream_);
}

// Outputs are fetched before the effects: one that is a variable has its value before the step.
void Executable::compute(const Features& batch, const StepState& state) {
  begin_step(state);
  double start = steady_seconds();
  feed(batch, state);
  double fed = steady_seconds();
  std::size_t first_effect = plan_->first_effect;
  launch(0, first_effect);
  if (staging_) {
    fetch_outputs();
    staging_->download(*stream_);
    wait_for_step();
    return;
  }
  stream_->synchronize();
  double computed = steady_seconds();
  fetch_outputs();
  stream_->synchronize();
  times_.copy = (fed - start) + (steady_seconds() - computed);
  times_.compute = computed - fed - times_.exposed_reduction - times_.transfer;
}

void Executable::apply() {
  double start = steady_seconds();
  launch(plan_->first_effect, launches_.size());
  if (staging_) {
    staging_->check(*stream_);
  } else {
    stream_->synchronize();
  }
  times_.apply = steady_seconds() - start;
}

void Executable::fetch_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    void* from = address(plan_->outputs[i]);
    auto bytes = Bytes(outputs_[i].bytes());
    if (staging_) {
      stream_->copy_on_device(staging_->result(i), from, bytes);
    } else {
      stream_->copy_to_host(outputs_[i].raw(), from, bytes);
    }
  }
}

void Executable::launch_step() {
  std::size_t first_effect = plan_->first_effect;
  launch(0, first_effect);
  fetch_outputs();
  launch(first_effect, launches_.size());
}

bool Executable::can_capture() const {
  if (!may_capture_ || transfers_ || check_numerics_ || !stream_->can_capture()) return false;
  return std::all_of(launches_.begin(), launches_.end(), [](const Launch& launch) {
    return !launch.collective || launch.collective->can_be_captured();
  });
}

// A capture that another thread has spoilt is made again in the next step, once; this step runs as
// it is. Not so where towers reduce: they all capture a step, or none does.
void Executable::capture() {
  std::string failure;
  stream_->begin_capture();
  try {
    launch_step();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  try {
    captured_ = stream_->end_capture();
  } catch (const Error&) {
    if (failure.empty()) throw;  // the first error says why
  }
  if (captured_ && failure.empty()) {
    spoilt_captures_ = 0;
    return;
  }
  bool spoilt = !captured_ && !member_.communicator;
  captured_.reset();
  if (spoilt && ++spoilt_captures_ == 1) return;
  if (failure.empty()) failure = "another thread's call has spoilt the capture";
  fail(failure, " (while a step was captured; RunConfig::capture_steps = false runs without)");
}

// The first step runs as it is: libraries load their code in it, which a capture does not allow.
void Executable::enqueue(const Features& batch, const StepState& state) {
  if (!staging_) return run(batch, state);
  begin_step(state);
  feed(batch, state);
  // A tower whose arena has moved captures anew, and so do the others in the same step, for NCCL.
  if (!state.capture) captured_.reset();
  bool may_replay = state.capture && !traced_ && enqueued_ > 0;
  if (may_replay && !captured_ && can_capture()) capture();
  if (may_replay && captured_) {
    stream_->replay(*captured_);
  } else {
    launch_step();
  }
  if (!traced_) ++enqueued_;
  staging_->download(*stream_);
}

void Executable::append_trace(int tower, int device, std::vector<TraceEntry>& to) const {
  ensure(traced_, "append_trace: the last step was not traced");
  trace_->append(*plan_, tower, device, to);
}

void Executable::collect() {
  if (staging_ && staging_->under_way() > 0) wait_for_step();
}

void Executable::wait_for_step() {
  std::function<void()> check;
  if (member_.communicator) check = [this] { member_.communicator->check(member_.member); };
  times_ = {};
  times_.compute = staging_->collect(outputs_, check);
}

}  // namespace belfry
