// The communicator of several GPUs, on whatever reduces: NCCL, or a test's stand-in.

#include <chrono>
#include <future>
#include <map>
#include <new>
#include <thread>

#include "belfry/framework/backend/cuda/communicator.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/launch.h"
#include "belfry/framework/backend/segments.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::cuda {
namespace {

using Clock = std::chrono::steady_clock;

__global__ void count_up(volatile std::uint64_t* counter) {
  if (thread_number() == 0) *counter = *counter + 1;
}

/// Floats as whole numbers of the same order, or back, with NaN the greatest: what NCCL calls a
/// maximum leaves NaN out.
template <class Bits>
__global__ void order(Bits* data, std::int64_t count, bool back) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1), rest = static_cast<Bits>(~sign);
  constexpr int mantissa = sizeof(Bits) == 4 ? 23 : 52;
  constexpr Bits infinity = rest >> mantissa << mantissa;
  std::int64_t i = thread_number();
  if (i >= count) return;
  Bits x = data[i];
  if (!back && (x & rest) > infinity) x &= rest;
  data[i] = (x & sign) != 0 ? static_cast<Bits>(x ^ rest) : x;
}

/// In pinned memory, written by the GPU.
struct Counters {
  volatile std::uint64_t begun = 0, done = 0;
};

class Group;

class Reduction final : public Collective {
 public:
  Reduction(Group& group, int member, std::uint64_t number, Bucket bucket);
  ~Reduction() override;
  void start(Stream& stream) override;
  void finish(Stream& stream) override;
  void move(std::span<const Segment> segments) override {
    bucket_.segments = reduced_.segments = {segments.begin(), segments.end()};
  }
  bool can_be_captured() const override { return true; }

  const Bucket& bucket() const { return bucket_; }
  const Bucket& reduced() const { return reduced_; }  ///< as the reducer sees it
  /// How often the host has started it, and the GPU has begun it. A replayed step is the GPU's.
  std::uint64_t started() const { return started_; }
  void count_start() { ++started_; }
  std::uint64_t begun() const { return counters().begun; }
  /// Seconds since the GPU is at the same reduction; 0 while it is at none.
  double seconds_under_way();

 private:
  Counters& counters() const { return *static_cast<Counters*>(counters_.get()); }
  bool ordered() const { return bucket_.op == ReduceOp::max && is_floating(bucket_.dtype); }
  void enqueue_order(Stream& stream, bool back) const;

  Group& group_;
  int member_;
  std::uint64_t number_;
  Bucket bucket_, reduced_;  // as the caller has it; as it is reduced
  std::shared_ptr<void> counters_;
  std::unique_ptr<Event> written_, done_;
  std::uint64_t started_ = 0, seen_done_ = 0;
  Clock::time_point since_{};  // when it was first seen under way; zero: is not
};

class Group final : public Communicator {
 public:
  Group(std::span<const Member> members, std::unique_ptr<Reducer> reducer,
        const CommunicatorOptions& options)
      : members_(members.begin(), members.end()),
        timeout_seconds_(options.timeout_seconds),
        others_(options.others),
        made_(members.size()),
        reducer_(std::move(reducer)),
        reductions_(members.size()) {
    for (const Member& m : members_) streams_.push_back(m.device->make_stream());
  }
  ~Group() override;

  int size() const override { return static_cast<int>(members_.size()); }
  std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) override {
    ensure(member >= 0 && member < size(), "all_reduce: there is no member ", member);
    return std::make_unique<Reduction>(*this, member, made_[index(member)]++, std::move(bucket));
  }
  void check(int member) override {
    MutexLock lock(mutex_);
    throw_if_failed();
    ask_reducer(member);
    ask_others();
    for (auto& [number, reduction] : reductions_[index(member)])
      if (reduction->seconds_under_way() > timeout_seconds_)
        give_up(late(member, number, *reduction, Where::on_gpu));
  }
  void abort(const std::string& reason) override {
    MutexLock lock(mutex_);
    note_failure(reason);
  }

  Device& device(int member) const { return *members_[index(member)].device; }
  Stream& stream(int member) const { return *streams_[index(member)]; }

  void add(int member, std::uint64_t number, Reduction& reduction) {
    MutexLock lock(mutex_);
    reductions_[index(member)][number] = &reduction;
  }
  void remove(int member, std::uint64_t number) {
    MutexLock lock(mutex_);
    reductions_[index(member)].erase(number);
  }

  void throw_if_any_failed() {
    MutexLock lock(mutex_);
    throw_if_failed();
  }
  /// The host waits, as long as nothing fails.
  void wait_for(int member, const Event& event) {
    for (; !event.done(); std::this_thread::yield()) check(member);
    throw_if_any_failed();  // what is aborted is done, too
  }
  /// Puts the reduction on the member's stream.
  void enqueue(int member, std::uint64_t number, Reduction& reduction);

 private:
  static std::size_t index(int member) { return static_cast<std::size_t>(member); }
  std::string name(std::size_t member) const { return members_[member].device->name(); }

  void throw_if_failed() const BELFRY_REQUIRES(mutex_) {
    if (!failure_.empty()) fail(failure_);
  }
  void note_failure(const std::string& reason) BELFRY_REQUIRES(mutex_) {
    if (!failure_.empty()) return;
    failure_ = reason;
    // It may wait for captured steps, which whoever failed holds until it has been told.
    std::packaged_task<void()> abort([reducer = reducer_] { reducer->abort(); });
    aborted_ = abort.get_future();
    aborting_ = std::thread(std::move(abort));
  }
  [[noreturn]] void give_up(const std::string& reason) BELFRY_REQUIRES(mutex_) {
    note_failure(reason);
    fail(failure_);
  }
  bool ask_reducer(int member) BELFRY_REQUIRES(mutex_) {
    try {
      return reducer_->enqueued(member);
    } catch (const Error& error) {
      give_up(concat(name(index(member)), ": ", error.what()));
    }
  }
  void ask_others() BELFRY_REQUIRES(mutex_) {
    if (!others_.check) return;
    try {
      others_.check();
    } catch (const Error& error) {
      give_up(with_silent(error.what()));
    }
  }
  /// With the names of those processes of which nothing is heard; one that says that it waited in
  /// vain does not know yet for whom.
  std::string with_silent(const std::string& reason) const {
    std::string silent = others_.silent ? others_.silent(reason) : "";
    return silent.empty() ? reason : concat(reason, "; nothing is heard of ", silent);
  }
  void compare(int member, std::uint64_t number, const Bucket& bucket) const
      BELFRY_REQUIRES(mutex_);
  /// The members that a member has missed when it waited too long: on the host those whose threads
  /// have not come, on the GPU those whose GPUs have not, either.
  enum class Where : bool { on_host, on_gpu };
  std::string late(int member, std::uint64_t number, const Reduction& reduction, Where where) const
      BELFRY_REQUIRES(mutex_);

  const std::vector<Member> members_;
  const double timeout_seconds_;
  const OtherProcesses others_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by member, each used by its thread
  std::vector<std::uint64_t> made_;               // likewise
  Mutex mutex_;
  std::shared_ptr<Reducer> reducer_ BELFRY_GUARDED_BY(mutex_);
  // By member, by number.
  std::vector<std::map<std::uint64_t, Reduction*>> reductions_ BELFRY_GUARDED_BY(mutex_);
  std::string failure_ BELFRY_GUARDED_BY(mutex_);
  std::thread aborting_ BELFRY_GUARDED_BY(mutex_);
  std::future<void> aborted_ BELFRY_GUARDED_BY(mutex_);
};

// Captured steps are gone by now, unless CUDA refuses every call: then they stay, and NCCL waits
// for ever.
Group::~Group() {
  if (!aborting_.joinable()) return;
  constexpr std::chrono::seconds patience(60);
  if (aborted_.wait_for(patience) == std::future_status::timeout) {
    aborting_.detach();
    log_warning("reductions over GPUs that were given up are still there");
    return;
  }
  aborting_.join();
  try {
    aborted_.get();
  } catch (const std::exception& error) {
    log_warning("reductions over GPUs were given up, and that failed: ", error.what());
  }
}

void Group::compare(int member, std::uint64_t number, const Bucket& bucket) const {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    auto found = reductions_[m].find(number);
    if (found == reductions_[m].end() || fits(bucket, found->second->bucket())) continue;
    const Bucket& other = found->second->bucket();
    fail(name(index(member)), " reduces ", bucket.name, " (", elements_of(bucket), " x ",
         bucket.dtype, ") while ", name(m), " reduces ", other.name, " (", elements_of(other),
         " x ", other.dtype, "); a model_fn must build the same model for every tower");
  }
}

std::string Group::late(int member, std::uint64_t number, const Reduction& reduction,
                        Where where) const {
  std::vector<std::string> missing;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    auto found = reductions_[m].find(number);
    bool came = found != reductions_[m].end() && found->second->started() >= reduction.started()
                && (where == Where::on_host || found->second->begun() >= reduction.begun());
    if (m != index(member) && !came) missing.push_back(name(m));
  }
  const std::string& bucket = reduction.bucket().name;
  if (missing.empty())
    return with_silent(
        concat(bucket, ": the reduction did not end within ", timeout_seconds_, " s"));
  return concat(bucket, ": ", join(missing, ", "), " did not come to the reduction within ",
                timeout_seconds_, " s");
}

void Group::enqueue(int member, std::uint64_t number, Reduction& reduction) {
  const Bucket& bucket = reduction.bucket();
  {
    MutexLock lock(mutex_);
    throw_if_failed();
    reduction.count_start();
    compare(member, number, bucket);
    try {
      reducer_->begin(member, reduction.reduced(), stream(member));
    } catch (const Error& error) {
      give_up(concat(name(index(member)), ": ", bucket.name, ": ", error.what()));
    }
  }
  for (Clock::time_point begin = Clock::now();; std::this_thread::yield()) {
    MutexLock lock(mutex_);
    throw_if_failed();
    if (ask_reducer(member)) return;
    ask_others();
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_seconds_)
      give_up(late(member, number, reduction, Where::on_host));
  }
}

Reduction::Reduction(Group& group, int member, std::uint64_t number, Bucket bucket)
    : group_(group), member_(member), number_(number), bucket_(std::move(bucket)) {
  Device& device = group_.device(member);
  counters_ = device.allocate_host(Bytes(sizeof(Counters)));
  new (counters_.get()) Counters;
  written_ = device.make_event();
  done_ = device.make_event();
  reduced_ = bucket_;
  if (ordered()) {
    require(size_of(bucket_.dtype) >= 4, bucket_.name, ": the maximum over GPUs of ", bucket_.dtype,
            " is not in this version; cast to f32");
    reduced_.dtype = size_of(bucket_.dtype) == 4 ? DType::i32 : DType::i64;
  }
  group_.add(member_, number_, *this);
}

Reduction::~Reduction() { group_.remove(member_, number_); }

double Reduction::seconds_under_way() {
  std::uint64_t done = counters().done;
  bool under_way = counters().begun != done;
  if (!under_way || done != seen_done_ || since_ == Clock::time_point{}) {
    seen_done_ = done;
    since_ = under_way ? Clock::now() : Clock::time_point{};
    return 0;
  }
  return std::chrono::duration<double>(Clock::now() - since_).count();
}

void Reduction::enqueue_order(Stream& stream, bool back) const {
  for (const Segment& s : bucket_.segments) {
    if (bucket_.dtype == DType::f32) {
      launch(stream, threads_for(s.count), order<std::uint32_t>,
             static_cast<std::uint32_t*>(s.data), s.count, back);
    } else {
      launch(stream, threads_for(s.count), order<std::uint64_t>,
             static_cast<std::uint64_t*>(s.data), s.count, back);
    }
  }
}

void Reduction::start(Stream& stream) {
  group_.throw_if_any_failed();
  Stream& own = group_.stream(member_);
  stream.record(*written_);
  own.wait(*written_);
  launch(own, {1, 32}, count_up, &counters().begun);
  if (ordered()) enqueue_order(own, false);
  group_.enqueue(member_, number_, *this);
  if (ordered()) enqueue_order(own, true);
  launch(own, {1, 32}, count_up, &counters().done);
  own.record(*done_);
  // Kernels that are launched for the first time may wait, inside CUDA, until the GPUs are idle,
  // which they are not while a reduction waits for a member whose thread is in such a launch.
  if (started_ == 1) group_.wait_for(member_, *done_);
}

void Reduction::finish(Stream& stream) {
  group_.throw_if_any_failed();
  stream.wait(*done_);
}

}  // namespace

std::shared_ptr<Communicator> make_communicator(std::span<const Member> members,
                                                std::unique_ptr<Reducer> reducer,
                                                const CommunicatorOptions& options) {
  return std::make_shared<Group>(members, std::move(reducer), options);
}

}  // namespace belfry::cuda
