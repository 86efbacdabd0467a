// Covers communicator.cu on emulated GPUs, with a reducer of the host in NCCL's place.
#include "belfry/framework/backend/cuda/communicator.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "../../../base/error_of.h"
#include "../../device_group.h"
#include "../emulated/host_reducer.h"

namespace belfry::cuda {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsNan;

// Outlives the reducer and what it has enqueued.
struct Script {
  ReducerScript script;
};

struct Group : Script, DeviceGroup {
  explicit Group(int n, CommunicatorOptions options = {}) : DeviceGroup("cuda", n) {
    std::vector<Member> members;
    for (int i = 0; i < n; ++i) members.push_back({&device(i), i});
    communicator = make_communicator(members, std::make_unique<HostReducer>(list, script), options);
  }
  // Waits for the first.
  int aborts() {
    while (script.aborts == 0) std::this_thread::yield();
    return script.aborts;
  }
};

// Numbers of one member in its GPU's memory.
template <class T>
struct Numbers {
  Numbers(Device& device, std::size_t count)
      : memory(device.allocate(bytes_of(count), "numbers")), host(count) {}
  static Bytes bytes_of(std::size_t count) {
    return Bytes(static_cast<std::int64_t>(count * sizeof(T)));
  }
  void write(Stream& stream, std::vector<T> values) {
    stream.copy_to_device(memory.data(), values.data(), bytes_of(values.size()));
  }
  const std::vector<T>& read(Stream& stream) {
    stream.copy_to_host(host.data(), memory.data(), bytes_of(host.size()));
    stream.synchronize();
    return host;
  }
  Segment segment() { return {memory.data(), static_cast<std::int64_t>(host.size())}; }

  DeviceMemory memory;
  std::vector<T> host;
};

// Nothing is read before it is written, in either direction, though everything is put off.
TEST(CudaCommunicator, SumsWhatTheStreamHasWritten) {
  Group group(3);
  auto errors = group.each([&](int m) {
    Stream& stream = group.stream(m);
    Numbers<float> a(group.device(m), 3), b(group.device(m), 2), c(group.device(m), 1);
    auto first = group.communicator->all_reduce(
        m, {"first", {a.segment(), b.segment()}, DType::f32, ReduceOp::sum});
    auto second = group.communicator->all_reduce(m, {"second", {c.segment()}, DType::f32});
    for (int step = 0; step < 3; ++step) {
      auto x = static_cast<float>(m + 10 * step);
      a.write(stream, {x, x + 1, x + 2});
      b.write(stream, {-x, 1});
      first->start(stream);
      c.write(stream, {x * x});
      second->start(stream);
      first->finish(stream);
      second->finish(stream);
      auto s = static_cast<float>(3 + 30 * step);  // of all x
      EXPECT_THAT(a.read(stream), ElementsAre(s, s + 3, s + 6));
      EXPECT_THAT(b.read(stream), ElementsAre(-s, 3));
      float t = 10.0f * static_cast<float>(step);
      EXPECT_THAT(c.read(stream), ElementsAre(t * t + (t + 1) * (t + 1) + (t + 2) * (t + 2)));
    }
    group.communicator->check(m);
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_EQ(group.script.aborts, 0);
}

template <class T>
void expect_maximum(DType dtype) {
  Group group(2);
  T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  std::vector<std::vector<T>> values = {{-1, T(-2.5), 0, nan, 3, -inf},
                                        {-2, T(-1.5), -3, 4, -nan, T(-1e30)}};
  auto errors = group.each([&](int m) {
    Stream& stream = group.stream(m);
    Numbers<T> x(group.device(m), 6);
    auto c = group.communicator->all_reduce(m, {"b", {x.segment()}, dtype, ReduceOp::max});
    x.write(stream, values[static_cast<std::size_t>(m)]);
    c->start(stream);
    c->finish(stream);
    EXPECT_THAT(x.read(stream), ElementsAre(-1, T(-1.5), 0, IsNan(), IsNan(), T(-1e30)));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(CudaCommunicator, MaximumKeepsNan) {
  expect_maximum<float>(DType::f32);
  expect_maximum<double>(DType::f64);
  Group group(1);
  Numbers<std::uint16_t> x(group.device(0), 1);
  EXPECT_THROW(group.communicator->all_reduce(0, {"b", {x.segment()}, DType::bf16, ReduceOp::max}),
               Error);
}

TEST(CudaCommunicator, CanBePartOfACapturedStep) {
  Group group(1, {.timeout_seconds = 0.5});
  Stream& stream = group.stream(0);
  Numbers<double> x(group.device(0), 2), y(group.device(0), 2);
  auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f64});
  EXPECT_TRUE(c->can_be_captured());
  c->start(stream);  // the first time is never captured
  c->finish(stream);
  stream.begin_capture();
  c->start(stream);
  c->finish(stream);
  stream.copy_on_device(y.memory.data(), x.memory.data(), Bytes(16));
  auto step = stream.end_capture();
  for (double value : {3.0, 4.0}) {
    x.write(stream, {value, -value});
    stream.replay(*step);
    EXPECT_THAT(y.read(stream), ElementsAre(value, -value));
    group.communicator->check(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    group.communicator->check(0);  // it saw that all was done
  }
}

// Captured steps go when whoever failed unwinds, so it must hear of the failure before they have.
TEST(CudaCommunicator, AFailureDoesNotWaitForCapturedSteps) {
  Group group(1);
  {
    Stream& stream = group.stream(0);
    Numbers<float> x(group.device(0), 1);
    auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f32});
    c->start(stream);
    c->finish(stream);
    stream.begin_capture();
    c->start(stream);
    c->finish(stream);
    auto step = stream.end_capture();
    group.communicator->abort("tower 1 failed: no more");
    EXPECT_EQ(error_of([&] { group.communicator->check(0); }), "tower 1 failed: no more");
    EXPECT_EQ(group.aborts(), 1);
    EXPECT_EQ(group.script.ended, 0);
  }
  group.communicator.reset();
  EXPECT_EQ(group.script.ended, 1);
}

TEST(CudaCommunicator, AMemberThatDoesNotStartIsNamed) {
  Group group(3, {.timeout_seconds = 0.5});
  std::atomic<int> failed = 0;
  auto errors = group.each([&](int m) {
    Numbers<float> x(group.device(m), 1);
    auto c = group.communicator->all_reduce(m, {"bucket 4 of adam", {x.segment()}, DType::f32});
    try {
      if (m != 1) c->start(group.stream(m));
    } catch (const Error&) {
      ++failed;
      throw;
    }
    while (failed < 2) std::this_thread::yield();
  });
  for (int m : {0, 2})
    EXPECT_EQ(errors[static_cast<std::size_t>(m)],
              "bucket 4 of adam: cuda:1 did not come to the reduction within 0.5 s");
  EXPECT_EQ(group.aborts(), 1);
}

// All is enqueued, as in a replayed step, and the GPUs wait for one.
TEST(CudaCommunicator, CheckNamesTheMemberWhoseGpuDoesNotCome) {
  Group group(2, {.timeout_seconds = 0.05});
  group.script.never_done = true;
  Numbers<float> x(group.device(0), 1);
  Communicator& communicator = *group.communicator;
  auto c = communicator.all_reduce(0, {"bucket 1 of sgd", {x.segment()}, DType::f32});
  auto other = communicator.all_reduce(1, {"bucket 1 of sgd", {x.segment()}, DType::f32});
  // It waits for the first reduction, and checks meanwhile.
  EXPECT_EQ(error_of([&] { c->start(group.stream(0)); }),
            "bucket 1 of sgd: cuda:1 did not come to the reduction within 0.05 s");
  EXPECT_EQ(error_of([&] { communicator.check(1); }),
            "bucket 1 of sgd: cuda:1 did not come to the reduction within 0.05 s");
  EXPECT_EQ(group.aborts(), 1);
  EXPECT_THROW(c->finish(group.stream(0)), Error);
  EXPECT_THROW(other->start(group.stream(1)), Error);
}

TEST(CudaCommunicator, CheckSaysWhenNobodyIsMissing) {
  Group group(2, {.timeout_seconds = 0.5});
  group.script.never_done = true;
  Numbers<float> x(group.device(0), 1);
  auto errors = group.each([&](int m) {
    auto c = group.communicator->all_reduce(m, {"b", {x.segment()}, DType::f32});
    c->start(group.stream(m));
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error, "b: the reduction did not end within 0.5 s");
}

// Members of other processes are not seen from here: the job knows who is silent.
TEST(CudaCommunicator, OtherProcessesAreAskedForWhomToName) {
  std::string told;
  OtherProcesses others{.first = 0, .members = 2, .silent = [&](const std::string& reason) {
                          told = reason;
                          return std::string("worker 1 of 2");
                        }};
  Group group(1, {.timeout_seconds = 0.05, .others = others});
  group.script.never_done = true;
  Numbers<float> x(group.device(0), 1);
  auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f32});
  EXPECT_EQ(error_of([&] { c->start(group.stream(0)); }),
            "b: the reduction did not end within 0.05 s; nothing is heard of worker 1 of 2");
  EXPECT_EQ(told, "b: the reduction did not end within 0.05 s");
}

TEST(CudaCommunicator, AFailureOfAnotherProcessEndsTheWait) {
  OtherProcesses others{.members = 2, .check = [] { fail("worker 1 of 2 cannot go on: no disk"); }};
  Group group(1, {.others = others});
  group.script.never_done = true;
  Numbers<float> x(group.device(0), 1);
  auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f32});
  EXPECT_EQ(error_of([&] { c->start(group.stream(0)); }), "worker 1 of 2 cannot go on: no disk");
  EXPECT_EQ(group.aborts(), 1);
}

TEST(CudaCommunicator, AFailureBehindIsNoticed) {
  Group group(1);
  Numbers<float> x(group.device(0), 1);
  auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f32});
  c->start(group.stream(0));
  group.script.failure = "NCCL: unhandled system error";
  EXPECT_EQ(error_of([&] { group.communicator->check(0); }),
            "cuda:0: NCCL: unhandled system error");
  EXPECT_EQ(group.aborts(), 1);
}

TEST(CudaCommunicator, AbortEndsTheWait) {
  Group group(2);
  Numbers<float> x(group.device(0), 1);
  auto errors = group.each([&](int m) {
    if (m == 1) return group.communicator->abort("tower 1 failed: no more");
    auto c = group.communicator->all_reduce(0, {"b", {x.segment()}, DType::f32});
    c->start(group.stream(0));
  });
  EXPECT_EQ(errors[0], "tower 1 failed: no more");
  group.communicator->abort("later");
  EXPECT_EQ(group.aborts(), 1);
}

TEST(CudaCommunicator, DifferentBucketsAreAnError) {
  Group group(2);
  group.script.never_done = true;
  Numbers<float> x(group.device(0), 2);
  auto a = group.communicator->all_reduce(0, {"bucket 0 of sgd", {x.segment()}, DType::f32});
  auto b = group.communicator->all_reduce(1, {"bucket 1 of sgd", {x.segment()}, DType::f32});
  EXPECT_EQ(error_of([&] { a->start(group.stream(0)); }),
            "cuda:0 reduces bucket 0 of sgd (2 x f32) while cuda:1 reduces bucket 1 of sgd "
            "(2 x f32); a model_fn must build the same model for every tower");
}

}  // namespace
}  // namespace belfry::cuda
