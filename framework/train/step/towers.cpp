#include "belfry/framework/train/step/towers.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <thread>

#include "belfry/framework/distribute/worker_communicator.h"

namespace belfry {
namespace {

double timeout(const RunConfig& config) { return config.reduction_timeout.count(); }

// The names of the workers that stay silent, for a worker that has waited in vain for GPUs of
// others.
std::string silent_workers(Workers& workers, const std::string& reason) {
  constexpr double seconds = 10;  // those that waited for the same give up at about the same time
  std::vector<std::string> names;
  for (int rank : workers.silent_after_failure(reason, seconds))
    names.push_back(concat("worker ", rank, " of ", workers.count()));
  return join(names, ", ");
}

// The devices of all towers with one index, in all workers, as members of one communicator, in the
// order of ranks. They wait longer than calls of Workers, which know whom they miss.
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

// Devices of the same index reduce together, beside those of other indices. Towers wait longer for
// each other than a worker for the others, which says more about what is wrong.
std::vector<std::shared_ptr<Communicator>> communicators_of(const Strategy& strategy,
                                                            Workers& workers,
                                                            const CommunicatorOptions& options) {
  CommunicatorOptions local = options;
  if (workers.count() > 1) local.timeout_seconds *= 2;
  std::vector<std::shared_ptr<Communicator>> out;
  for (std::int64_t s = 0; s < strategy.devices_per_tower(); ++s) {
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

Bytes fraction_of(Bytes memory, double fraction) {
  return Bytes(static_cast<std::int64_t>(fraction * memory.count));
}

int lane_count(const Strategy& strategy) { return strategy.size() * strategy.devices_per_tower(); }

int threads_for(const RunConfig& config, const Strategy& strategy) {
  if (config.threads > 0 || lane_count(strategy) == 1) return config.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / lane_count(strategy));
}

}  // namespace

Towers::Towers(const RunConfig& config)
    : workers_(find_workers(WorkerOptions{.timeout_seconds = timeout(config)})),
      strategy_(make_strategy(config.devices, config.batch, config.variables)),
      threads_of_a_device_(threads_for(config, strategy_)),
      lanes_(lane_count(strategy_)),
      reduction_{config.reduction, timeout(config)} {
  require(config.split.devices <= devices_per_tower(), "RunConfig: split is into ",
          config.split.devices, " devices but tower ", strategy_.towers[0].name(), " has ",
          devices_per_tower(), "; name as many devices, joined by +, in each entry of devices");
  const MemoryLimit& limit = config.memory_limit;
  if (limit == MemoryLimit()) return;
  for (const Tower& tower : strategy_.towers)
    for (const auto& device : tower.devices)
      device->set_memory_limit(limit.fraction > 0 ? fraction_of(device->memory(), limit.fraction)
                                                  : limit.bytes);
}

std::vector<Device*> Towers::devices(int tower) const {
  std::vector<Device*> devices;
  for (const auto& device : strategy_.towers[tower].devices) devices.push_back(device.get());
  return devices;
}

bool Towers::holds(const VariableOptions& options, int tower) const {
  return tower == 0 || strategy_.variables == VariablePlacement::mirrored
         || differs_over_towers(options.over_towers);
}

InputContext Towers::input_context() const {
  bool shards = strategy_.batch != BatchPolicy::global;
  return {.pipelines = shards ? workers_->count() : 1,
          .pipeline = shards ? workers_->rank() : 0,
          .towers = strategy_.size(),
          .allocate_host = pinned_memory(strategy_)};
}

std::string Towers::description() const {
  const auto& towers = strategy_.towers;
  const Device& first = *towers[0].devices[0];
  std::vector<std::string> names;
  for (const Tower& tower : towers) names.push_back(tower.name());
  std::string text = lane_count(strategy_) == 1 ? first.description() : join(names, ", ");
  if (!first.host_accessible()) return text;
  // As many as a step gets that is worth sharing.
  int threads = first.threads_for(std::numeric_limits<double>::infinity(), threads_of_a_device_);
  return concat(text, ", ", threads == 1 ? "1 thread" : concat("up to ", threads, " threads"),
                lane_count(strategy_) == 1 ? "" : " each");
}

void Towers::failed(const std::exception& error) {
  failed_ = true;
  for (const auto& communicator : communicators_) {
    if (!communicator) continue;
    try {
      communicator->abort(concat("another tower failed: ", error.what()));
    } catch (const std::bad_alloc&) {
      // The others must not wait. So short a text needs no memory.
      communicator->abort("out of memory");
    }
  }
}

void Towers::connect() {
  if (failed_.exchange(false))
    for (auto& c : std::exchange(communicators_, {})) aborted_.push_back(std::move(c));
  if (communicators_.empty()) communicators_ = communicators_of(strategy_, *workers_, reduction_);
}

Communicator* Towers::communicator(int device) const { return communicators_[device].get(); }

}  // namespace belfry
