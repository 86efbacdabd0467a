#include "belfry/framework/distribute/worker_communicator.h"

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

class WorkerCommunicator final : public Communicator {
 public:
  WorkerCommunicator(std::shared_ptr<Communicator> local, Workers& workers,
                     const CommunicatorOptions& options)
      : local_(std::move(local)), across_(workers.communicator(options)), rank_(workers.rank()) {}

  int size() const override { return local_ ? local_->size() : 1; }
  std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) override;
  void abort(const std::string& reason) override {
    across_->abort(reason);
    if (local_) local_->abort(reason);
  }

 private:
  std::shared_ptr<Communicator> local_, across_;
  int rank_;
};

// One tower's part: reduce within the worker, over workers (tower 0 only), spread within the
// worker.
class Grouped final : public Collective {
 public:
  Grouped(Communicator& local, int member, const Bucket& bucket, std::unique_ptr<Collective> across)
      : local_(local), reduce_(local.all_reduce(member, bucket)), across_(std::move(across)) {
    Bucket result = bucket;
    result.op = ReduceOp::first;
    spread_ = local.all_reduce(member, std::move(result));
  }

  void start(Stream& stream) override { reduce_->start(stream); }
  void finish(Stream& stream) override {
    reduce_->finish(stream);
    if (across_) reduce_over_workers(stream);
    spread_->start(stream);
    spread_->finish(stream);
  }

 private:
  void reduce_over_workers(Stream& stream) {
    try {
      across_->start(stream);
      across_->finish(stream);
    } catch (const Error& error) {
      local_.abort(error.what());
      throw;
    }
  }

  Communicator& local_;
  std::unique_ptr<Collective> reduce_, across_, spread_;
};

std::unique_ptr<Collective> WorkerCommunicator::all_reduce(int member, Bucket bucket) {
  ensure(member >= 0 && member < size(), "all_reduce: there is no member ", member);
  std::unique_ptr<Collective> across;
  if (member == 0) across = across_->all_reduce(rank_, bucket);
  if (!local_) return across;
  return std::make_unique<Grouped>(*local_, member, bucket, std::move(across));
}

}  // namespace

std::shared_ptr<Communicator> make_worker_communicator(std::shared_ptr<Communicator> local,
                                                       Workers& workers,
                                                       const CommunicatorOptions& options) {
  return std::make_shared<WorkerCommunicator>(std::move(local), workers, options);
}

}  // namespace belfry
