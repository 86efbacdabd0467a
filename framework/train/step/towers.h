#pragma once
// The towers of this process, their threads, and those of other workers. Internal to train/.

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/distribute/tower_threads.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/step/tower_shards.h"

namespace belfry {

class Towers {
 public:
  /// Limits the devices' memory. Error: there are fewer devices than RunConfig::split asks for.
  explicit Towers(const RunConfig& config);

  const Strategy& strategy() const { return strategy_; }
  int count() const { return strategy_.size(); }
  int devices_per_tower() const { return strategy_.devices_per_tower(); }  ///< of each
  std::vector<Device*> devices(int tower) const;                           ///< by device
  /// Whether a variable has memory of its own on this tower.
  bool holds(const VariableOptions& options, int tower) const;
  bool on_host() const { return strategy_.towers[0].devices[0]->host_accessible(); }
  /// Threads of a CPU device; 0: as many as there are.
  int threads_of_a_device() const { return threads_of_a_device_; }
  /// The devices and, of CPUs, how many threads they run on: "cpu:0, cpu:1, 1 thread each".
  std::string description() const;

  Workers& workers() const { return *workers_; }
  /// This process's towers among those of all workers.
  TowerRange range() const { return {workers_->rank() * count(), workers_->count() * count()}; }
  /// The context that an input_fn is given: with the global policy every worker reads whole
  /// batches.
  InputContext input_context() const;

  /// A thread for each device of each tower, tower after tower.
  TowerThreads& lanes() { return lanes_; }
  /// Joins the towers of all workers, unless they are joined: all workers call it.
  void connect();
  /// The one that joins the towers' devices of this index; null: there is one tower, or connect()
  /// comes first.
  Communicator* communicator(int device) const;
  bool connected() const { return !communicators_.empty(); }
  /// Lets the towers that wait for one that threw go on; from any thread.
  void failed(const std::exception& error);

 private:
  std::shared_ptr<Workers> workers_;
  Strategy strategy_;
  int threads_of_a_device_;
  TowerThreads lanes_;
  CommunicatorOptions reduction_;
  std::vector<std::shared_ptr<Communicator>> communicators_;  // of several towers, by device
  std::vector<std::shared_ptr<Communicator>> aborted_;        // that executables may still refer to
  std::atomic<bool> failed_ = false;
};

}  // namespace belfry
