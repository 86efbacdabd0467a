#include "belfry/framework/distribute/workers.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/distribute/worker_role.h"

namespace belfry {
namespace {

struct Registry {
  Mutex mutex;
  WorkersFactory factory BELFRY_GUARDED_BY(mutex);
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// One member's reduction: the result is what it has.
class SoleMember final : public Communicator {
 public:
  int size() const override { return 1; }
  std::unique_ptr<Collective> all_reduce(int member, Bucket) override {
    ensure(member == 0, "all_reduce: there is no member ", member);
    return std::make_unique<Nothing>(*this);
  }
  void abort(const std::string& reason) override {
    MutexLock lock(mutex_);
    if (failure_.empty()) failure_ = reason;
  }

 private:
  class Nothing final : public Collective {
   public:
    explicit Nothing(SoleMember& group) : group_(group) {}
    void start(Stream&) override {}
    void finish(Stream&) override {
      MutexLock lock(group_.mutex_);
      require(group_.failure_.empty(), group_.failure_);
    }
    void move(std::span<const Segment>) override {}

   private:
    SoleMember& group_;
  };

  Mutex mutex_;
  std::string failure_ BELFRY_GUARDED_BY(mutex_);
};

class SoleWorker final : public Workers {
 public:
  using Workers::all_gather;

  int count() const override { return 1; }
  int rank() const override { return 0; }
  std::string describe() const override { return "one worker"; }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ensure(mine.size() == all.size(), "all_gather: ", mine.size(), " bytes into ", all.size());
    std::copy(mine.begin(), mine.end(), all.begin());
  }
  void broadcast(std::vector<std::byte>&) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
    return {{mine.begin(), mine.end()}};
  }
  std::shared_ptr<Communicator> communicator(const CommunicatorOptions&) override {
    return std::make_shared<SoleMember>();
  }
  void announce_failure(const std::string&) noexcept override {}
};

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

std::optional<WorkerRole> own_role() {
  const char* config = variable("TF_CONFIG");
  return config ? std::optional(worker_role_from_json(config)) : std::nullopt;
}

// How many processes the launcher says it started: 0 when only MPI knows, nothing when there is no
// launcher. Open MPI and MPICH (Hydra) tell; under Slurm's `srun --mpi=pmix` Slurm does.
std::optional<int> launched_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = variable(name)) return std::atoi(size);
  if (!variable("PMIX_RANK")) return std::nullopt;
  const char* tasks = variable("SLURM_STEP_NUM_TASKS");
  return tasks ? std::atoi(tasks) : 0;
}

WorkersFactory factory() {
  MutexLock lock(registry().mutex);
  return registry().factory;
}

std::shared_ptr<Workers> workers_of_job(const std::optional<WorkerOptions>& options) {
  std::optional<int> processes = launched_processes();
  if (!processes || *processes == 1) return make_sole_worker();
  WorkersFactory make = factory();
  require(make, "workers: this process was started by MPI as one of ",
          *processes > 0 ? text(*processes) : "several",
          ", but this build of Belfry lacks MPI: install MPI's compiler files (on Debian "
          "`apt-get install libopenmpi-dev openmpi-bin`) and build with -D BELFRY_MPI=ON");
  return make(options);
}

// TF_CONFIG cannot start or connect processes, but it can contradict those that are there.
void check_role(const WorkerRole& role, const Workers& workers) {
  int count = workers.count();
  if (role.is_evaluator) {
    require(count == 1,
            "TF_CONFIG: this process is the evaluator, which stands outside the cluster, "
            "but MPI started it as one of ",
            count, "; start it without mpirun");
    return;
  }
  require(
      role.workers == 1 || count > 1, "TF_CONFIG: the cluster has ", role.workers,
      " tasks, but this process was started alone; MPI starts and connects workers: `mpirun -np ",
      role.workers, " <program>` (see framework/distribute/README.md), without TF_CONFIG");
  require(role.workers == count, "TF_CONFIG: the cluster has ", role.workers,
          " tasks, but MPI started ", count, " processes; unset TF_CONFIG, or start as many");
  require(role.index == workers.rank(), "TF_CONFIG: this process is task ", role.index,
          " of the cluster (the chief is 0), but MPI made it worker ", workers.rank(),
          "; unset TF_CONFIG, or list the hosts in its order");
}

}  // namespace

std::vector<int> Workers::silent_after_failure(const std::string& reason, double) noexcept {
  announce_failure(reason);
  return {};
}

WorkersRegistration::WorkersRegistration(WorkersFactory factory) {
  MutexLock lock(registry().mutex);
  registry().factory = std::move(factory);
}

bool is_evaluator() {
  std::optional<WorkerRole> role = own_role();
  return role && role->is_evaluator;
}

std::string model_dir_of_cluster() {
  std::optional<WorkerRole> role = own_role();
  return role ? role->model_dir : "";
}

std::shared_ptr<Workers> make_sole_worker() { return std::make_shared<SoleWorker>(); }

std::shared_ptr<Workers> find_workers(const std::optional<WorkerOptions>& options) {
  if (options)
    require(options->timeout_seconds > 0, "workers: timeout_seconds must be above 0, got ",
            options->timeout_seconds);
  std::optional<WorkerRole> role = own_role();
  std::shared_ptr<Workers> workers = workers_of_job(options);
  if (role) check_role(*role, *workers);
  return workers;
}

}  // namespace belfry
