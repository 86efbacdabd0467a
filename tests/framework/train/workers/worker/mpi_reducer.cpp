#include "mpi_reducer.h"

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "../../../backend/cuda/emulated/emulated_api.h"
#include "belfry/framework/backend/cuda/communicator.h"
#include "belfry/framework/backend/cuda/launch.h"
#include "belfry/framework/backend/segments.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using cuda::Member;

// One reduction: every member's operands go to all, and each sums them in the order of members. It
// runs, piece by piece, whenever the emulated stream asks whether it is done.
class Exchange {
 public:
  Exchange(MPI_Comm comm, int members, Bucket bucket,
           std::shared_ptr<const std::atomic<bool>> aborted)
      : comm_(comm), members_(members), bucket_(std::move(bucket)), aborted_(std::move(aborted)) {}

  void operator()() {
    if (*aborted_) return;
    if (!message_) begin();
    int done = 0;
    MPI_Test(&message_->request, &done, MPI_STATUS_IGNORE);
    if (!done) throw cuda::NotReady();
    reduce_received();
    message_->under_way = false;
    message_.reset();
  }

 private:
  // Stays where MPI may still write into it.
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> own, all;
    bool under_way = true;
  };

  void begin() {
    static std::vector<std::shared_ptr<Message>> kept;
    std::erase_if(kept, [](const auto& message) { return !message->under_way; });
    message_ = kept.emplace_back(std::make_shared<Message>());
    for (const Segment& s : bucket_.segments) {
      auto* data = static_cast<const std::byte*>(s.data);
      message_->own.insert(message_->own.end(), data, data + bytes_of(s));
    }
    message_->all.resize(message_->own.size() * static_cast<std::size_t>(members_));
    int bytes = static_cast<int>(message_->own.size());
    MPI_Iallgather(message_->own.data(), bytes, MPI_BYTE, message_->all.data(), bytes, MPI_BYTE,
                   comm_, &message_->request);
  }

  void reduce_received() {
    std::vector<Bucket> received(static_cast<std::size_t>(members_), bucket_);
    std::vector<const Bucket*> sources;
    std::byte* next = message_->all.data();
    for (Bucket& bucket : received) {
      for (Segment& s : bucket.segments) {
        s.data = next;
        next += bytes_of(s);
      }
      sources.push_back(&bucket);
    }
    const Bucket* target = &bucket_;
    reduce(sources, std::span(&target, 1), 0, elements_of(bucket_));
  }

  std::size_t bytes_of(const Segment& s) const {
    return static_cast<std::size_t>(s.count) * static_cast<std::size_t>(size_of(bucket_.dtype));
  }

  MPI_Comm comm_;
  int members_;
  Bucket bucket_;
  std::shared_ptr<const std::atomic<bool>> aborted_;
  std::shared_ptr<Message> message_;  // while it is under way
};

class MpiReducer final : public cuda::Reducer {
 public:
  explicit MpiReducer(const OtherProcesses& others) : members_(others.members) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    ensure(rank == others.first, "the GPU of worker ", rank, " is member ", others.first);
    std::vector<std::byte> word(1, std::byte(rank == 0 ? 7 : 0));
    others.broadcast(word);
    ensure(word[0] == std::byte(7), "the first worker's word did not arrive");
  }

  void begin(int, const Bucket& bucket, Stream& stream) override {
    Exchange exchange(comm_, members_, bucket, aborted_);
    auto bind = [](const void* function, void**) -> std::function<void()> {
      return *static_cast<const Exchange*>(function);
    };
    cuda::enqueue(stream,
                  {.function = &exchange, .shape = {1, 1}, .arguments = nullptr, .bind = bind});
  }
  bool enqueued(int) override { return true; }
  void abort() override { *aborted_ = true; }

 private:
  int members_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

void emulate_gpus_of_several_workers() {
  static const cuda::CommunicatorRegistration registration(
      [](cuda::Api&, std::span<const Member> members, const CommunicatorOptions& options) {
        ensure(members.size() == 1, "each worker trains on one emulated GPU");
        return cuda::make_communicator(members, std::make_unique<MpiReducer>(options.others),
                                       options);
      });
}

}  // namespace belfry
