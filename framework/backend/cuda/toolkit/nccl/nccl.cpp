// Reductions by NCCL. Communicators do not block: a call returns at once, and what it began is
// asked after until it is on its stream.

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "belfry/framework/backend/cuda/communicator.h"
#include "belfry/framework/backend/cuda/quietly.h"
#include "belfry/framework/backend/cuda/stream.h"
#include "belfry/framework/backend/cuda/toolkit/loaded_library.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

using Clock = std::chrono::steady_clock;

const LoadedLibrary nccl("libnccl.so.2",
                         "to train on several GPUs install NCCL 2.18 or later (pip: "
                         "nvidia-nccl-cu13), or name one GPU");
#define BELFRY_NCCL(function) BELFRY_LOADED(nccl, function)

[[noreturn]] void fail_nccl(const char* call, ncclResult_t result, ncclComm_t communicator) {
  const char* detail = BELFRY_NCCL(ncclGetLastError)(communicator);
  fail(call, ": ", BELFRY_NCCL(ncclGetErrorString)(result), detail && *detail ? ": " : "",
       detail ? detail : "");
}

void check(ncclResult_t result, const char* call, ncclComm_t communicator = nullptr) {
  if (result != ncclSuccess && result != ncclInProgress) fail_nccl(call, result, communicator);
}

// A worker may replay a step while another one, whose batch has a new shape, runs it eagerly;
// buffers that are registered for a graph would let NCCL wait for all to do the same. Said before
// there are threads, which may be reading the environment.
const int environment = setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);

/// Calls of one group, which is ended even where one of them fails.
template <class Calls>
void in_group(const char* what, Calls&& calls) {
  check(BELFRY_NCCL(ncclGroupStart)(), "ncclGroupStart");
  try {
    calls();
  } catch (...) {
    BELFRY_NCCL(ncclGroupEnd)();
    throw;
  }
  check(BELFRY_NCCL(ncclGroupEnd)(), what);
}

ncclDataType_t type_of(const Bucket& bucket) {
  switch (bucket.dtype) {
    case DType::f64:
      return ncclFloat64;
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::i64:
      return ncclInt64;
    case DType::i32:
      return ncclInt32;
    default:
      fail(bucket.name, ": elements of type ", bucket.dtype, " cannot be reduced; cast them");
  }
}

class NcclReducer final : public Reducer {
 public:
  NcclReducer(Api& api, std::span<const Member> members, const CommunicatorOptions& options)
      : api_(api) {
    for (const Member& m : members) gpus_.push_back(m.index);
    communicators_.resize(gpus_.size());
    try {
      connect(options.others, options.timeout_seconds);
    } catch (...) {
      quietly([&] { abort(); });
      throw;
    }
  }
  ~NcclReducer() override {
    quietly([&] { destroy(); });
  }

  void begin(int member, const Bucket& bucket, Stream& stream) override {
    ncclComm_t communicator = of(member);
    ncclDataType_t type = type_of(bucket);
    in_group("ncclGroupEnd", [&] {
      for (const Segment& s : bucket.segments) {
        if (s.count == 0) continue;
        std::size_t count = s.count;
        if (bucket.op == ReduceOp::first) {
          check(BELFRY_NCCL(ncclBroadcast)(s.data, s.data, count, type, 0, communicator,
                                           handle_of(stream)),
                "ncclBroadcast", communicator);
        } else {
          ncclRedOp_t op = bucket.op == ReduceOp::sum ? ncclSum : ncclMax;
          check(BELFRY_NCCL(ncclAllReduce)(s.data, s.data, count, type, op, communicator,
                                           handle_of(stream)),
                "ncclAllReduce", communicator);
        }
      }
    });
  }

  bool enqueued(int member) override {
    ncclComm_t communicator = of(member);
    ncclResult_t state = ncclSuccess;
    check(BELFRY_NCCL(ncclCommGetAsyncError)(communicator, &state), "ncclCommGetAsyncError",
          communicator);
    if (state != ncclSuccess && state != ncclInProgress) fail_nccl("NCCL", state, communicator);
    return state == ncclSuccess;
  }

  // Members of one process must be aborted together, as each waits for the others; and all of them,
  // whatever NCCL says about one.
  void abort() override {
    in_group("ncclCommAbort", [&] {
      ncclResult_t worst = ncclSuccess;
      for (ncclComm_t& communicator : communicators_)
        if (ncclComm_t ended = std::exchange(communicator, nullptr)) {
          ncclResult_t result = BELFRY_NCCL(ncclCommAbort)(ended);
          if (result != ncclSuccess && result != ncclInProgress) worst = result;
        }
      check(worst, "ncclCommAbort");
    });
  }

 private:
  ncclComm_t of(int member) const {
    ncclComm_t communicator = communicators_[member];
    ensure(communicator, "NCCL: the communicator was aborted");
    return communicator;
  }

  void connect(const OtherProcesses& others, double timeout_seconds) {
    int members = others.members > 0 ? others.members : static_cast<int>(gpus_.size());
    ncclUniqueId id = identifier(others);
    in_group("ncclCommInitRankConfig", [&] {
      for (std::size_t m = 0; m < gpus_.size(); ++m) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        api_.use(gpus_[m]);
        check(BELFRY_NCCL(ncclCommInitRankConfig)(&communicators_[m], members, id,
                                                  others.first + static_cast<int>(m), &config),
              "ncclCommInitRankConfig");
      }
    });
    require(wait_for_all(timeout_seconds), "NCCL: the ", members,
            " GPUs were not connected within ", timeout_seconds, " s");
  }

  // Where the members meet: a secret of the one that has member 0.
  static ncclUniqueId identifier(const OtherProcesses& others) {
    ncclUniqueId id{};
    if (others.first == 0) check(BELFRY_NCCL(ncclGetUniqueId)(&id), "ncclGetUniqueId");
    if (others.members == 0) return id;
    auto bytes = std::as_writable_bytes(std::span(&id, 1));
    std::vector<std::byte> message(bytes.begin(), bytes.end());
    others.broadcast(message);
    ensure(message.size() == bytes.size(), "NCCL: an identifier of ", message.size(), " bytes");
    std::copy(message.begin(), message.end(), bytes.begin());
    return id;
  }

  // Until nothing is in progress; false after the time.
  bool wait_for_all(double seconds) {
    Clock::time_point begin = Clock::now();
    for (std::size_t m = 0; m < communicators_.size();) {
      if (enqueued(m)) {
        ++m;
      } else if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) {
        return false;
      } else {
        std::this_thread::yield();
      }
    }
    return true;
  }

  void destroy() {
    if (communicators_.empty() || !communicators_[0]) return;  // aborted
    if (!finalize()) return abort();
    in_group("ncclCommDestroy", [&] {
      for (ncclComm_t communicator : communicators_)
        check(BELFRY_NCCL(ncclCommDestroy)(communicator), "ncclCommDestroy");
    });
  }

  // False when reductions have failed, or do not end.
  bool finalize() {
    constexpr double patience = 60;  // seconds, for reductions that nobody waits for
    try {
      in_group("ncclCommFinalize", [&] {
        for (ncclComm_t communicator : communicators_)
          check(BELFRY_NCCL(ncclCommFinalize)(communicator), "ncclCommFinalize", communicator);
      });
      return wait_for_all(patience);
    } catch (const Error&) {
      return false;
    }
  }

  Api& api_;
  std::vector<int> gpus_;                  // by member
  std::vector<ncclComm_t> communicators_;  // by member; null: aborted
};

std::shared_ptr<Communicator> make(Api& api, std::span<const Member> members,
                                   const CommunicatorOptions& options) {
  auto reducer = std::make_unique<NcclReducer>(api, members, options);
  return make_communicator(members, std::move(reducer), options);
}

const CommunicatorRegistration registration(make);

}  // namespace
}  // namespace belfry::cuda
