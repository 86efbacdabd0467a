#include "belfry/framework/train/step/session.h"

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

// The names of the workers that stay silent, for a worker that has waited in vain for GPUs of
// others.
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
  options.recompute = compile_options_.recompute;
  options.recompute.rates =
      strategy_.towers[0].devices[0]->host_accessible() ? rates_of_cpus : rates_of_gpus;
  if (strategy_.slots() > 1)
    options.slot_of_variable = [this](std::string_view name) { return variables_.slot_of(name); };
  return options;
}

std::shared_ptr<const TowerPlan> Session::compile(const Model& model, int tower,
                                                  UpdateSet chosen) const {
  return compile(model, tower, chosen, {.recompute = model.mode() == Mode::train});
}

std::shared_ptr<const TowerPlan> Session::compile(const Model& model, int tower, UpdateSet chosen,
                                                  Search search) const {
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

std::shared_ptr<const TowerPlan> Session::compile_summaries(const Model& model, int tower) const {
  return compile_within_limits(tower, {}, [&](const CompileOptions& options) {
    return model.compile_summaries(devices_of(tower), options);
  });
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
