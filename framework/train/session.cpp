#include "belfry/framework/train/session.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/worker_communicator.h"
#include "belfry/framework/optimizers/moving_average.h"

namespace belfry {

namespace {

double timeout(const RunConfig& config) {
  return static_cast<double>(config.reduction_timeout.count());
}

// What a worker that waits for GPUs of others in vain needs to say whose.
std::string silent_workers(Workers& workers, const std::string& reason) {
  constexpr double seconds = 10;  // those that waited for the same give up at about the same time
  std::vector<std::string> names;
  for (int rank : workers.silent_after_failure(reason, seconds))
    names.push_back(concat("worker ", rank, " of ", workers.count()));
  return join(names, ", ");
}

// Devices of one slot, in all workers, as members of one communicator, in the order of ranks. They
// wait longer than calls of Workers, which know whom they miss.
std::shared_ptr<Communicator> join_all(std::span<Device* const> devices, Workers& workers,
                                       CommunicatorOptions options) {
  auto counts = workers.all_gather(static_cast<int>(devices.size()));
  auto own = counts.begin() + workers.rank();
  options.others = {
      .first = std::accumulate(counts.begin(), own, 0),
      .members = std::accumulate(counts.begin(), counts.end(), 0),
      .broadcast = [&](std::vector<std::byte>& bytes) { workers.broadcast(bytes); },
      .check = [&] { workers.check(); },
      .silent = [&](const std::string& reason) { return silent_workers(workers, reason); }};
  return devices[0]->make_communicator(devices, options);
}

// Whether devices reach those of other workers themselves; memory of the host goes through MPI.
bool joins_workers(const Device& device, Workers& workers) {
  int joins = device.host_accessible() ? 0 : 1;
  for (int other : workers.all_gather(joins))
    require(joins == other,
            "train: some workers train on GPUs and some on CPUs; they cannot "
            "reduce together; name the same kind of devices for all");
  return joins == 1;
}

// Each slot's devices reduce together, beside those of other slots. Towers wait longer for each
// other than a worker for the others, which says more about what is wrong.
std::vector<std::shared_ptr<Communicator>> communicators_of(const Strategy& strategy,
                                                            Workers& workers,
                                                            const CommunicatorOptions& options) {
  CommunicatorOptions local = options;
  if (workers.count() > 1) local.timeout_seconds *= 2;
  std::vector<std::shared_ptr<Communicator>> out;
  for (std::size_t s = 0; s < static_cast<std::size_t>(strategy.slots()); ++s) {
    std::vector<Device*> devices;
    for (const Tower& tower : strategy.towers) devices.push_back(tower.devices[s].get());
    auto join_towers = [&]() -> std::shared_ptr<Communicator> {
      return strategy.size() == 1 ? nullptr : devices[0]->make_communicator(devices, local);
    };
    if (workers.count() == 1)
      out.push_back(join_towers());
    else if (joins_workers(*devices[0], workers))
      out.push_back(join_all(devices, workers, local));
    else
      out.push_back(make_worker_communicator({join_towers(), join_towers()}, workers, options));
  }
  return out;
}

// Pinned memory is one for all devices of a kind.
AllocateHost pinned_memory(const Strategy& strategy) {
  struct Held {
    std::shared_ptr<Device> device;
    std::shared_ptr<void> memory;  // goes first
  };
  for (const Tower& tower : strategy.towers)
    for (const auto& device : tower.devices)
      if (device->asynchronous())
        return [device](Bytes size) -> std::shared_ptr<void> {
          auto held = std::make_shared<Held>(Held{device, device->allocate_host(size)});
          return {held, held->memory.get()};
        };
  return {};
}

Bytes share_of(Bytes memory, double share) {
  return Bytes(static_cast<std::int64_t>(share * static_cast<double>(memory.count)));
}

int lane_count(const Strategy& strategy) { return strategy.size() * strategy.slots(); }

int threads_of_a_slot(const RunConfig& config, const Strategy& strategy) {
  if (config.threads > 0 || lane_count(strategy) == 1) return config.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / lane_count(strategy));
}

}  // namespace

Session::Session(ModelFn model_fn, const RunConfig& config, std::optional<WarmStart> warm_start)
    : model_fn_(std::move(model_fn)),
      config_(to_json(config)),
      check_numerics_(config.check_numerics),
      capture_steps_(config.capture_steps),
      precision_(config.precision),
      workers_(find_workers(WorkerOptions{.timeout_seconds = timeout(config)})),
      strategy_(make_strategy(config.devices, config.batch, config.variables)),
      threads_(lane_count(strategy_)),
      reduction_{config.reduction, timeout(config)},
      variables_(strategy_, place().first),
      warm_start_(std::move(warm_start)),
      seed_(config.seed),
      split_(config.split.slots),
      compile_options_{
          .threads = threads_of_a_slot(config, strategy_),
          .tf32 = config.tf32,
          .exact_convolutions = config.exact_convolutions,
          .recompute = {.cheap = config.recompute.automatic, .scopes = config.recompute.scopes}},
      recompute_(config.recompute.automatic),
      plans_(config.plans) {
  require(split_ <= strategy_.slots(), "RunConfig: split is into ", split_, " slots but tower ",
          strategy_.towers[0].name(), " has ", strategy_.slots(),
          "; name as many devices, joined by +, in each entry of devices");
  const MemoryLimit& limit = config.memory_limit;
  if (limit == MemoryLimit()) return;
  for (const Tower& tower : strategy_.towers)
    for (const auto& device : tower.devices)
      device->set_memory_limit(limit.share > 0 ? share_of(device->memory(), limit.share)
                                               : limit.bytes);
}

InputContext Session::input_context() const {
  bool shards = strategy_.batch != BatchPolicy::global;
  return {.pipelines = shards ? workers_->count() : 1,
          .pipeline = shards ? workers_->rank() : 0,
          .towers = strategy_.size(),
          .allocate_host = pinned_memory(strategy_)};
}

std::string Session::describe_devices() const {
  const auto& towers = strategy_.towers;
  const Device& first = *towers[0].devices[0];
  std::vector<std::string> names;
  for (const Tower& tower : towers) names.push_back(tower.name());
  std::string text = lane_count(strategy_) == 1 ? first.description() : join(names, ", ");
  if (!first.host_accessible()) return text;
  // As many as a step gets that is worth sharing.
  int threads =
      first.threads_for(std::numeric_limits<double>::infinity(), compile_options_.threads);
  return concat(text, ", ", threads == 1 ? "1 thread" : concat("up to ", threads, " threads"),
                lane_count(strategy_) == 1 ? "" : " each");
}

void Session::towers_failed(const std::exception& error) {
  towers_failed_ = true;
  for (const auto& communicator : communicators_)
    if (communicator) communicator->abort(concat("another tower failed: ", error.what()));
}

ModelOptions Session::complete(ModelOptions options) const {
  options.towers = place().all;
  options.split = split_;
  options.precision = precision_;
  if (strategy_.slots() > 1)
    options.slot_of_variable = [this](std::string_view name) { return variables_.slot_of(name); };
  return options;
}

std::shared_ptr<const TowerPlan> Session::compile(const Model& model, int tower,
                                                  std::uint64_t chosen) const {
  return compile(model, tower, chosen, {.recompute = model.mode() == Mode::train});
}

std::shared_ptr<const TowerPlan> Session::compile(const Model& model, int tower,
                                                  std::uint64_t chosen, Search search) const {
  if (model.mode() == Mode::train)
    for (const std::string& scope : compile_options_.recompute.scopes)
      require(model.has_scope(scope), "RunConfig: recompute names the scope `", scope,
              "`, in which the model makes nothing; summary() lists its scopes");
  // Each worker's first tower applies for its own.
  bool applies = strategy_.variables == VariablePlacement::mirrored || tower == 0;
  return compile_within_limits(tower, search, [&](const CompileOptions& options) {
    return model.compile(devices_of(tower), options, chosen, applies);
  });
}

std::int64_t Session::bytes_over(const Model& model, int tower,
                                 std::span<const std::uint64_t> parts) const {
  Search search{.recompute = model.mode() == Mode::train, .first_that_fits = true};
  std::vector<std::shared_ptr<const TowerPlan>> plans;
  std::vector<const TowerPlan*> together;
  for (std::uint64_t chosen : parts) {
    plans.push_back(compile(model, tower, chosen, search));
    together.push_back(plans.back().get());
  }
  std::vector<Device*> devices = devices_of(tower);
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t slot = 0; slot < devices.size(); ++slot) {
    const Device& device = *devices[slot];
    std::int64_t there = std::min(device.memory_limit().count,
                                  device.memory_in_use().count + device.available_memory().count);
    most = std::max(most, bytes_of(together, tower, slot) - there);
  }
  return most;
}

// Plans of one tower that are there together share variables, and the memory to compute in.
std::int64_t Session::bytes_of(std::span<const TowerPlan* const> plans, int tower,
                               std::size_t slot) const {
  std::map<std::string_view, std::int64_t> variables;
  std::int64_t bytes = 0, scratch = 0;
  for (const auto& plan : plans) {
    const Plan& own = *plan->slots[slot];
    bytes += (own.staged ? own.input_bytes() : 0) + own.constant_bytes();
    scratch = std::max(scratch, own.scratch_bytes());
    for (const Node* v : own.variables)
      if (const auto& options = v->as<VariableOptions>(); holds(options, tower))
        variables[options.name] = options.type.bytes();
  }
  for (const auto& [name, size] : variables) bytes += size;
  return bytes + scratch;
}

std::shared_ptr<const TowerPlan> Session::compile_summaries(const Model& model, int tower) const {
  return compile_within_limits(tower, {}, [&](const CompileOptions& options) {
    return model.compile_summaries(devices_of(tower), options);
  });
}

// What is kept for the backward pass takes memory, and so does Winograd's method. What others have
// in use is not looked at, so that bits do not depend on it.
std::shared_ptr<const TowerPlan> Session::compile_within_limits(int tower, Search search,
                                                                const Compile& compile) const {
  CompileOptions options = compile_options_;
  auto plan = compile(options);
  auto smallest = plan;
  auto try_more = [&] {
    if (search.recompute && recompute_ && bytes_over_limits(*plan, tower) > 0)
      plan = compile_with_recompute(tower, search, compile, options, *plan);
    if (bytes_over_limits(*plan, tower) < bytes_over_limits(*smallest, tower)) smallest = plan;
    return bytes_over_limits(*plan, tower) <= 0;
  };
  bool on_host = strategy_.towers[0].devices[0]->host_accessible();
  if (try_more() || !on_host || options.exact_convolutions) return smallest;
  options.exact_convolutions = true;
  plan = compile(options);
  try_more();
  return smallest;
}

// If any fits, about the one that computes the least again, else the one that computes the most. It
// leaves a sixteenth of the memory, if any does, to evaluations beside the training.
std::shared_ptr<const TowerPlan> Session::compile_with_recompute(int tower, Search search,
                                                                 const Compile& compile,
                                                                 CompileOptions options,
                                                                 const TowerPlan& without) const {
  std::int64_t fits = 1, too_much = 0;
  for (const auto& slot : without.slots) too_much += slot->arena_bytes;
  options.recompute.most_bytes = fits;
  auto best = compile(options);
  if (search.first_that_fits) return best;
  const std::int64_t most = -devices_of(tower)[0]->memory_limit().count / 16;
  for (int tries = 0; tries < 7 && bytes_over_limits(*best, tower) <= most; ++tries) {
    options.recompute.most_bytes = fits + (too_much - fits) / 2;
    auto plan = compile(options);
    bool does = bytes_over_limits(*plan, tower) <= most;
    (does ? fits : too_much) = options.recompute.most_bytes;
    if (does) best = std::move(plan);
  }
  return best;
}

std::vector<Device*> Session::devices_of(int tower) const {
  std::vector<Device*> devices;
  for (const auto& device : strategy_.towers[static_cast<std::size_t>(tower)].devices)
    devices.push_back(device.get());
  return devices;
}

void Session::leave_off(std::string input_position,
                        std::map<std::string, std::string> hook_states) {
  input_position_ = std::move(input_position);
  position_of_all_ = false;
  hook_states_ = std::move(hook_states);
}

void Session::require_no_training() const {
  auto turn = turns_.take();
  require(trainings_ == 0,
          "train: this Estimator is training already; finish() or destroy that Training, or use "
          "another Estimator with a model_dir of its own");
}

void Session::begin_training(std::stop_token stop) {
  require_no_training();
  if (towers_failed_.exchange(false))
    for (auto& c : std::exchange(communicators_, {})) aborted_.push_back(std::move(c));
  if (communicators_.empty()) communicators_ = communicators_of(strategy_, *workers_, reduction_);
  std::erase_if(replicas_, [](const auto& entry) { return entry.first.second; });
  ++trainings_;
  fixed_ = false;
  training_stop_ = std::move(stop);
}

void Session::end_training() {
  --trainings_;
  training_stop_ = {};
}

Replicas& Session::replicas(Mode mode, bool averaged) {
  auto turn = turns_.take();
  std::set<std::string>& to_come = averages_to_come_[mode];
  auto has_come = [this](const std::string& variable) { return has_average(variable); };
  if (averaged && std::any_of(to_come.begin(), to_come.end(), has_come)) {
    replicas_.erase({mode, averaged});
    to_come.clear();
  }
  auto& entry = replicas_[{mode, averaged}];
  if (!entry)
    entry = std::make_unique<Replicas>(*this, mode, Hooks{}, ModelOptions{.averaged = averaged});
  return *entry;
}

Bytes Session::bytes_needed(const TowerPlan& plan, int tower, int slot) {
  const Plan& own = *plan.slots[static_cast<std::size_t>(slot)];
  const VariableStore& store = variables_.store(tower, slot);
  std::int64_t needed = std::max<std::int64_t>(own.scratch_bytes() - store.arena()->size().count,
                                               0);  // the rest is there
  needed += (own.staged ? own.input_bytes() : 0) + own.constant_bytes();
  for (const Node* v : own.variables)
    if (const auto& options = v->as<VariableOptions>();
        holds(options, tower) && !store.contains(options.name))
      needed += options.type.bytes();
  return Bytes(needed);
}

namespace {

bool uses_winograd(const Plan& plan) {
  return std::ranges::any_of(plan.instructions, [](const Instruction& i) {
    return i.kernel && i.kernel->implementation().starts_with("winograd");
  });
}

Bytes free_memory(const Device& device) {
  return std::min(Bytes(device.memory_limit().count - device.memory_in_use().count),
                  device.available_memory());
}

// Where the limit would allow more than there is.
std::string_view held_by_others(const Device& device) {
  bool less =
      device.available_memory().count < device.memory_limit().count - device.memory_in_use().count;
  return less ? " beside what other programs hold" : "";
}

}  // namespace

std::int64_t Session::bytes_over_limits(const TowerPlan& plan, int tower) const {
  std::vector<Device*> devices = devices_of(tower);
  const TowerPlan* one = &plan;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t slot = 0; slot < devices.size(); ++slot)
    most = std::max(most, bytes_of({&one, 1}, tower, slot) - devices[slot]->memory_limit().count);
  return most;
}

bool Session::fits(const TowerPlan& plan, int tower) {
  for (int slot = 0; slot < strategy_.slots(); ++slot)
    if (bytes_needed(plan, tower, slot).count
        > free_memory(variables_.store(tower, slot).device()).count)
      return false;
  return true;
}

// Rows of the largest batch whose plan fits; 0 when not even one row does. Gradient hooks are left
// out: they were made for the real step.
std::int64_t Session::largest_batch(const Model& model, int tower) {
  auto rows_fit = [&](std::int64_t rows) {
    Signature smaller = model.signature();
    for (auto& [name, type] : smaller)
      if (type.shape.rank() > 0 && type.shape[0] == model.rows())
        type.shape = type.shape.with(0, rows);
    try {
      ModelOptions options = model.options();
      options.agree_on_split = {};  // only this worker asks
      Model scaled(model_fn_, model.mode(), std::move(smaller), {}, options);
      Search search{.recompute = model.mode() == Mode::train, .first_that_fits = true};
      return fits(*compile(scaled, tower, ~std::uint64_t{0}, search), tower);
    } catch (const Error&) {  // a model that wants a certain batch
      return false;
    }
  };
  std::int64_t low = 0, high = model.rows();  // low fits, high does not
  while (high - low > 1) {
    std::int64_t middle = low + (high - low) / 2;
    (rows_fit(middle) ? low : high) = middle;
  }
  return low;
}

void Session::make_room(const TowerPlan& plan, const Model& model, int tower) {
  if (bytes_over_limits(plan, tower) > 0) fail_for_memory(plan, model, tower);
  while (!fits(plan, tower))
    if (!plans_.drop_one()) fail_for_memory(plan, model, tower);
}

void Session::fail_for_memory(const TowerPlan& plan, const Model& model, int tower) {
  int slot = 0;  // the fullest
  auto missing = [&](int s) {
    return bytes_needed(plan, tower, s).count
           - free_memory(variables_.store(tower, s).device()).count;
  };
  for (int s = 1; s < strategy_.slots(); ++s)
    if (missing(s) > missing(slot)) slot = s;
  Device& device = variables_.store(tower, slot).device();
  std::int64_t rows = largest_batch(model, tower);
  std::string report = belfry::explain(*plan.slots[static_cast<std::size_t>(slot)]);
  std::string_view where = strategy_.size() > 1 ? " a tower" : "";
  fail("the step needs ", bytes_text(bytes_needed(plan, tower, slot).count), " on ", device.name(),
       " but ", bytes_text(free_memory(device).count), " of ",
       bytes_text(device.memory_limit().count), " are free", held_by_others(device), "; ",
       rows > 0
           ? concat("a batch of ", rows, where, " instead of ", model.rows(),
                    " would fit. Less is needed with the rows in parts (hooks::accumulate), or")
           : concat("not even a batch of 1", where, " would fit. Less is needed"),
       " with the model on several devices (RunConfig::split)",
       model.mode() == Mode::train && !recompute_ ? " or with activations computed again "
                                                    "(RunConfig::recompute)"
                                                  : "",
       uses_winograd(*plan.slots[static_cast<std::size_t>(slot)]) ? " or with exact_convolutions\n"
                                                                  : "\n",
       report.substr(report.find("memory: ")));
}

void Session::check(const TowerPlan& plan, const Model& model, int tower) {
  make_room(plan, model, tower);
  check_variables(plan, model);
}

std::unique_ptr<TowerExecutable> Session::make_executable(std::shared_ptr<const TowerPlan> plan,
                                                          const Model& model, int tower,
                                                          bool averaged) {
  make_room(*plan, model, tower);
  ensure(model.mode() != Mode::train || !communicators_.empty(),
         "make_executable: begin_training() comes first");
  check_variables(*plan, model);
  take_warm_values(model);
  std::vector<VariableStore*> stores;
  std::vector<ExecutableOptions> options;
  bool any_average = false;
  for (int slot = 0; slot < strategy_.slots(); ++slot) {
    auto s = static_cast<std::size_t>(slot);
    for (const Node* v : plan->slots[s]->variables) {
      VariableOptions variable = v->as<VariableOptions>();
      if (averaged && has_average(variable.name)) {
        variable.name += moving_average_suffix;
        variable.kind = VariableKind::slot;
        any_average = true;
      } else if (std::string average = concat(variable.name, moving_average_suffix);
                 averaged && (variables_.contains(average) || pending_.contains(average))) {
        averages_to_come_[model.mode()].insert(variable.name);
      }
      make_variable(variable, slot, model.mode());
    }
    stores.push_back(&variables_.store(tower, slot));
    Communicator* communicator = model.mode() == Mode::train ? communicators_[s].get() : nullptr;
    options.push_back({.member = {communicator, tower, place().first + tower},
                       .variable_suffix = averaged ? std::string(moving_average_suffix) : "",
                       .mailboxes = nullptr,
                       .capture = capture_steps_});
  }
  require(any_average || !averaged,
          "there are no moving averages of variables; train with hooks::moving_average()");
  has_state_ = true;
  auto executable = std::make_unique<TowerExecutable>(std::move(plan), stores, seed_, options);
  executable->check_numerics(check_numerics_);
  return executable;
}

}  // namespace belfry
