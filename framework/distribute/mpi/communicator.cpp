#include "belfry/framework/distribute/mpi/communicator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/segments.h"
#include "belfry/framework/distribute/mpi/messages.h"

namespace belfry::mpi {
namespace {

constexpr int most_rounds = 1024;  // reductions under way at a time, each with tags of its own
enum Message : int { description, addends, result, messages };

std::size_t index(int rank) { return rank; }

// A description of a worker's reduction, so that the others can tell whether theirs is the same.
struct Description {
  std::int64_t elements = 0, segments = 0;
  std::uint64_t sizes = 0;  // a hash of the segments' numbers of elements
  std::int32_t dtype = 0, op = 0;
  char name[104] = {};

  Description() = default;
  explicit Description(const Bucket& bucket)
      : elements(elements_of(bucket)),
        segments(std::ssize(bucket.segments)),
        dtype(static_cast<std::int32_t>(bucket.dtype)),
        op(static_cast<std::int32_t>(bucket.op)) {
    for (const Segment& s : bucket.segments) sizes = sizes * 0x100000001B3 + s.count + 1;
    bucket.name.copy(name, sizeof name - 1);
  }
  bool fits(const Description& o) const {
    return elements == o.elements && segments == o.segments && sizes == o.sizes && dtype == o.dtype
           && op == o.op && std::strcmp(name, o.name) == 0;
  }
};

std::string to_string(const Description& d) {
  return concat(d.name, " (", d.elements, " x ", static_cast<DType>(d.dtype), " in ", d.segments,
                d.segments == 1 ? " segment)" : " segments)");
}

class Reduction;

class Group final : public Communicator {
 public:
  Group(std::shared_ptr<Job> job, const CommunicatorOptions& options)
      : job_(std::move(job)), timeout_seconds_(options.timeout_seconds) {
    MutexLock lock(mpi_mutex);
    first_tag_ = job_->next_tags(most_rounds * messages);
  }
  int size() const override { return job_->count(); }
  std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) override;
  void abort(const std::string& reason) override { job_->announce(reason); }

  Job& job() { return *job_; }
  double timeout_seconds() const { return timeout_seconds_; }
  int next_tag() BELFRY_REQUIRES(mpi_mutex) {
    return first_tag_ + static_cast<int>(started_++ % most_rounds) * messages;
  }
  void add(Reduction& r) BELFRY_REQUIRES(mpi_mutex) { under_way_.push_back(&r); }
  void remove(Reduction& r) BELFRY_REQUIRES(mpi_mutex) { std::erase(under_way_, &r); }
  void advance() BELFRY_REQUIRES(mpi_mutex);
  /// Makes room for one more reduction under way.
  void reserve() BELFRY_REQUIRES(mpi_mutex) { under_way_.reserve(++made_); }

 private:
  std::shared_ptr<Job> job_;
  const double timeout_seconds_;
  int first_tag_ BELFRY_GUARDED_BY(mpi_mutex) = 0;
  std::uint64_t started_ BELFRY_GUARDED_BY(mpi_mutex) = 0;
  std::size_t made_ BELFRY_GUARDED_BY(mpi_mutex) = 0;
  std::vector<Reduction*> under_way_ BELFRY_GUARDED_BY(mpi_mutex);  // in the order of start()
};

// Memory: the bucket's elements side by side, then this worker's shard of them from each other
// worker, then a description from each worker.
class Reduction final : public Collective {
 public:
  Reduction(Group& group, Bucket bucket);
  ~Reduction() override {
    MutexLock lock(mpi_mutex);
    group_.remove(*this);
  }
  void start(Stream& stream) override;
  void finish(Stream& stream) override;
  void move(std::span<const Segment> segments) override {
    bucket_.segments = {segments.begin(), segments.end()};
  }

  // Does what the messages that have come allow.
  void advance() BELFRY_REQUIRES(mpi_mutex);

 private:
  enum class Stage { idle, describing, sharing, returning, done };

  std::size_t begin_of(int rank) const {  // of a worker's shard, in bytes
    return (mine_.elements * rank / job_.count()) * size_of(bucket_.dtype);
  }
  std::size_t bytes_of(int rank) const { return begin_of(rank + 1) - begin_of(rank); }
  std::byte* packed() const { return memory_->data(); }
  template <class F>
  void for_each_other(F&& f) BELFRY_REQUIRES(mpi_mutex) {
    for (int rank = 0; rank < job_.count(); ++rank)
      if (rank != job_.rank()) f(rank);
  }
  void compare() const;
  void send_result() BELFRY_REQUIRES(mpi_mutex);
  std::vector<int> missing() const BELFRY_REQUIRES(mpi_mutex);

  Group& group_;
  Job& job_;
  Bucket bucket_;
  Bucket packed_bucket_;  // the same, side by side
  Description mine_;
  Memory memory_;
  std::vector<std::byte*> addends_, descriptions_;  // in memory_, by rank
  std::vector<Bucket> contributions_;               // to this worker's shard, by rank
  std::vector<const Bucket*> sources_;
  Messages describing_, sharing_, returning_;
  Stage stage_ BELFRY_GUARDED_BY(mpi_mutex) = Stage::idle;
  int tag_ BELFRY_GUARDED_BY(mpi_mutex) = 0;
};

Reduction::Reduction(Group& group, Bucket bucket)
    : group_(group),
      job_(group.job()),
      bucket_(std::move(bucket)),
      packed_bucket_(bucket_),
      mine_(bucket_),
      memory_(make_memory(begin_of(job_.count()) + index(job_.count()) * bytes_of(job_.rank())
                          + index(job_.count()) * sizeof(Description))),
      describing_(job_, memory_, 2 * index(job_.count())),
      sharing_(job_, memory_, 2 * index(job_.count())),
      returning_(job_, memory_, 2 * index(job_.count())) {
  std::byte* next = packed();
  for (Segment& s : packed_bucket_.segments) {
    s.data = next;
    next += s.count * size_of(bucket_.dtype);
  }
  int me = job_.rank();
  std::int64_t count = bytes_of(me) / size_of(bucket_.dtype);
  for (int rank = 0; rank < job_.count(); ++rank, next += bytes_of(me)) {
    addends_.push_back(rank == me ? packed() + begin_of(me) : next);
    contributions_.push_back({bucket_.name, {{addends_.back(), count}}, bucket_.dtype, bucket_.op});
  }
  for (const Bucket& b : contributions_) sources_.push_back(&b);
  for (int rank = 0; rank < job_.count(); ++rank, next += sizeof(Description))
    descriptions_.push_back(next);
  std::memcpy(descriptions_[index(me)], &mine_, sizeof mine_);
  MutexLock lock(mpi_mutex);
  group_.reserve();
}

void Reduction::start(Stream& stream) {
  stream.synchronize();
  MutexLock lock(mpi_mutex);
  if (job_.failed()) return;  // finish() throws
  ensure(stage_ == Stage::idle, bucket_.name, ": started again before finish()");
  copy_into(packed_bucket_, bucket_);
  group_.advance();
  tag_ = group_.next_tag();
  for_each_other([&](int rank) BELFRY_REQUIRES(mpi_mutex) {
    describing_.receive(rank, tag_ + description, descriptions_[index(rank)], sizeof mine_);
    describing_.send(rank, tag_ + description, descriptions_[index(job_.rank())], sizeof mine_);
    sharing_.receive(rank, tag_ + addends, addends_[index(rank)], bytes_of(job_.rank()));
    sharing_.send(rank, tag_ + addends, packed() + begin_of(rank), bytes_of(rank));
  });
  stage_ = Stage::describing;
  group_.add(*this);
}

void Reduction::finish(Stream&) {
  job_.wait({.what = bucket_.name,
             .timeout_seconds = group_.timeout_seconds(),
             .done =
                 [this]() BELFRY_REQUIRES(mpi_mutex) {
                   group_.advance();
                   return stage_ == Stage::done;
                 },
             .missing = [this]() BELFRY_REQUIRES(mpi_mutex) { return missing(); }});
  copy_into(bucket_, packed_bucket_);
  MutexLock lock(mpi_mutex);
  group_.remove(*this);
  stage_ = Stage::idle;
}

void Reduction::advance() {
  if (stage_ == Stage::describing && describing_.done()) {
    compare();
    stage_ = Stage::sharing;
  }
  if (stage_ == Stage::sharing && sharing_.done()) {
    reduce(sources_, std::span(sources_).subspan(index(job_.rank()), 1), 0,
           contributions_[0].segments[0].count);
    send_result();
    stage_ = Stage::returning;
  }
  if (stage_ == Stage::returning && returning_.done()) stage_ = Stage::done;
}

void Reduction::compare() const {
  for (int rank = 0; rank < job_.count(); ++rank) {
    Description theirs;
    std::memcpy(&theirs, descriptions_[index(rank)], sizeof theirs);
    require(mine_.fits(theirs), job_.name(job_.rank()), " reduces ", mine_, " while ",
            job_.name(rank), " reduces ", theirs,
            "; a model_fn must build the same model in every worker, and hooks choose the same "
            "updates");
  }
}

void Reduction::send_result() {
  int me = job_.rank();
  for_each_other([&](int rank) BELFRY_REQUIRES(mpi_mutex) {
    returning_.receive(rank, tag_ + result, packed() + begin_of(rank), bytes_of(rank));
    returning_.send(rank, tag_ + result, packed() + begin_of(me), bytes_of(me));
  });
}

std::vector<int> Reduction::missing() const {
  switch (stage_) {
    case Stage::describing:
      return describing_.missing();
    case Stage::sharing:
      return sharing_.missing();
    default:
      return returning_.missing();
  }
}

void Group::advance() {
  for (Reduction* r : under_way_) r->advance();
}

std::unique_ptr<Collective> Group::all_reduce(int member, Bucket bucket) {
  ensure(member == job_->rank(), "all_reduce: member ", member, " is not in this process, ",
         job_->name(job_->rank()), " is");
  return std::make_unique<Reduction>(*this, std::move(bucket));
}

}  // namespace

std::shared_ptr<Communicator> make_communicator(std::shared_ptr<Job> job,
                                                const CommunicatorOptions& options) {
  return std::make_shared<Group>(std::move(job), options);
}

}  // namespace belfry::mpi
