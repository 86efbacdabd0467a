#include "belfry/framework/backend/cuda/device.h"

#include "../../base/error_of.h"
#include "recording_api.h"

namespace belfry::cuda {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

struct CudaDevice : ::testing::Test {
  RecordingApi api;
};

TEST_F(CudaDevice, SaysWhatItIs) {
  auto device = make_device(api, 1);
  EXPECT_EQ(device->name(), "cuda:1");
  EXPECT_EQ(device->description(), "cuda:1, Test GPU, 1000 B");
  EXPECT_FALSE(device->host_accessible());
  EXPECT_EQ(device->memory_limit().count, 1000);
}

TEST_F(CudaDevice, MayUseWhatIsFree) {
  api.free_bytes = 600;  // somebody else has the rest
  auto device = make_device(api, 1);
  EXPECT_EQ(device->description(), "cuda:1, Test GPU, 1000 B");
  EXPECT_EQ(device->memory_limit().count, 600);
}

TEST_F(CudaDevice, LeavesNothingWhenItCannotBeMade) {
  api.has_streams = false;
  EXPECT_EQ(error_of([&] { make_device(api, 0); }), "there are no streams");
  EXPECT_THAT(api.calls, Contains("create pool 1"));
  EXPECT_THAT(api.alive, IsEmpty());
}

TEST_F(CudaDevice, ThereIsNoneWithoutAGpu) {
  EXPECT_EQ(error_of([&] { make_device(api, 2); }),
            "device: there is no cuda:2; CUDA finds 2 GPUs, cuda:0 to cuda:1");
  api.gpus = 0;
  EXPECT_EQ(error_of([&] { make_device(api, 0); }),
            "device: there is no cuda:0, as CUDA finds no GPU: no driver");
  EXPECT_THAT(api.calls, IsEmpty());
}

TEST_F(CudaDevice, TouchesNoOther) {
  {
    auto device = make_device(api, 1);
    DeviceMemory memory = device->allocate(Bytes(100), "weights");
    auto stream = device->make_stream();
    auto event = device->make_event();
    auto pinned = device->allocate_host(Bytes(10));
    EXPECT_TRUE(device->is_pinned(pinned.get()));
  }
  for (const std::string& call : api.calls) EXPECT_NE(call, "use 0");
  EXPECT_THAT(api.alive, IsEmpty());
}

TEST_F(CudaDevice, KnowsPinnedMemory) {
  auto device = make_device(api, 0), other = make_device(api, 1);
  auto pinned = device->allocate_host(Bytes(10));
  auto* begin = static_cast<std::byte*>(pinned.get());
  std::vector<std::byte> plain(10);
  for (const auto& d : {device, other}) {
    EXPECT_TRUE(d->is_pinned(begin));
    EXPECT_TRUE(d->is_pinned(begin + 9));
    EXPECT_FALSE(d->is_pinned(begin + 10));
    EXPECT_FALSE(d->is_pinned(plain.data()));
  }
}

TEST_F(CudaDevice, OpensItsMemoryToTheOthersInUse) {
  auto first = make_device(api, 0);
  api.take_calls();
  {
    auto second = make_device(api, 1);
    EXPECT_THAT(api.take_calls(), IsSupersetOf({"open pool 1 of 0 to 1", "open pool 3 of 1 to 0"}));
    EXPECT_TRUE(first->reaches(*second));
    EXPECT_TRUE(second->reaches(*first));
  }
  auto third = make_device(api, 1);
  EXPECT_TRUE(third->reaches(*third));
}

// No stream may still be using what is freed, and any stream may use what is allocated.
TEST_F(CudaDevice, MemoryIsOfAPoolOfItsOwn) {
  auto device = make_device(api, 0);
  EXPECT_THAT(api.take_calls(), ElementsAre("use 0", "create pool 1", "create stream 2"));
  {
    DeviceMemory memory = device->allocate(Bytes(100), "weights");
    EXPECT_THAT(api.take_calls(),
                ElementsAre("use 0", "allocate 100 of pool 1 on stream 2", "synchronize stream 2"));
  }
  EXPECT_THAT(api.take_calls(), ElementsAre("use 0", "synchronize device", "free 100 on stream 2"));
  device.reset();
  EXPECT_THAT(api.calls,
              ElementsAre("use 0", "synchronize device", "destroy stream 2", "destroy pool 1"));
}

TEST_F(CudaDevice, ExhaustedMemoryIsAnErrorWithNumbers) {
  auto device = make_device(api, 0);
  api.free_bytes = 50;  // somebody else has the rest
  EXPECT_EQ(error_of([&] { device->allocate(Bytes(100), "weights"); }),
            "weights: out of memory on cuda:0: 100 B asked for, 0 B in use, 1000 B allowed");
  device->set_memory_limit(Bytes(20));
  EXPECT_THAT(error_of([&] { device->allocate(Bytes(40), "weights"); }),
              HasSubstr("over the memory limit"));
  EXPECT_EQ(device->memory_in_use().count, 0);
}

TEST_F(CudaDevice, ReductionsNeedNcclAndAGpuForEachMember) {
  auto a = make_device(api, 0), b = make_device(api, 1);
  std::vector<Device*> devices{a.get(), b.get()};
  EXPECT_EQ(error_of([&] { a->make_communicator(devices, {}); }),
            "reductions over 2 GPUs need NCCL, which this build is without; install it and build "
            "again, or name one device");
  devices.push_back(a.get());
  EXPECT_EQ(error_of([&] { a->make_communicator(devices, {}); }),
            "cuda:0 stands twice among the devices that reduce together; NCCL needs a GPU for "
            "each");
}

}  // namespace
}  // namespace belfry::cuda
