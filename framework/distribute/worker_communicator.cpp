#include "belfry/framework/distribute/worker_communicator.h"

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

class WorkerCommunicator final : public Communicator {
 public:
  WorkerCommunicator(LocalCommunicators local, Workers& workers, const CommunicatorOptions& options)
      : local_(std::move(local)), across_(workers.communicator(options)), rank_(workers.rank()) {}

  int size() const override { return local_.reduce ? local_.reduce->size() : 1; }
  std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) override;
  void abort(const std::string& reason) override {
    across_->abort(reason);
    abort_local(reason);
  }
  void abort_local(const std::string& reason) {
    for (const auto& local : {local_.reduce, local_.spread})
      if (local) local->abort(reason);
  }

 private:
  LocalCommunicators local_;
  std::shared_ptr<Communicator> across_;
  int rank_;
};

// One tower's part: reduce within the worker, over workers (tower 0 only), spread within the
// worker.
class Grouped final : public Collective {
 public:
  Grouped(WorkerCommunicator& group, std::unique_ptr<Collective> reduce,
          std::unique_ptr<Collective> across, std::unique_ptr<Collective> spread)
      : group_(group),
        reduce_(std::move(reduce)),
        across_(std::move(across)),
        spread_(std::move(spread)) {}

  void start(Stream& stream) override { reduce_->start(stream); }
  void finish(Stream& stream) override {
    reduce_->finish(stream);
    if (across_) reduce_over_workers(stream);
    spread_->start(stream);
    spread_->finish(stream);
  }
  void move(std::span<const Segment> segments) override {
    for (Collective* part : {reduce_.get(), across_.get(), spread_.get()})
      if (part) part->move(segments);
  }

 private:
  void reduce_over_workers(Stream& stream) {
    try {
      across_->start(stream);
      across_->finish(stream);
    } catch (const Error& error) {
      group_.abort_local(error.what());
      throw;
    }
  }

  WorkerCommunicator& group_;
  std::unique_ptr<Collective> reduce_, across_, spread_;
};

std::unique_ptr<Collective> WorkerCommunicator::all_reduce(int member, Bucket bucket) {
  ensure(member >= 0 && member < size(), "all_reduce: there is no member ", member);
  std::unique_ptr<Collective> across;
  if (member == 0) across = across_->all_reduce(rank_, bucket);
  if (!local_.reduce) return across;
  auto reduce = local_.reduce->all_reduce(member, bucket);
  bucket.op = ReduceOp::first;
  auto spread = local_.spread->all_reduce(member, std::move(bucket));
  return std::make_unique<Grouped>(*this, std::move(reduce), std::move(across), std::move(spread));
}

}  // namespace

std::shared_ptr<Communicator> make_worker_communicator(LocalCommunicators local, Workers& workers,
                                                       const CommunicatorOptions& options) {
  return std::make_shared<WorkerCommunicator>(std::move(local), workers, options);
}

}  // namespace belfry
