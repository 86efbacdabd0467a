#include "belfry/framework/backend/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "../base/error_of.h"
#include "belfry/framework/base/out_of_memory.h"
#include "device_without_memory.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Device, IsFoundByName) {
  auto device = find_device("cpu");
  EXPECT_EQ(device->name(), "cpu:0");
  EXPECT_EQ(find_device("cpu:0"), device);
  EXPECT_NE(find_device("cpu:1"), device);
  EXPECT_EQ(find_device("cpu:1")->name(), "cpu:1");
  EXPECT_TRUE(device->host_accessible());
  EXPECT_THAT(device->description(), HasSubstr("core"));
}

TEST(Device, OtherNamesAreErrors) {
  for (const char* name : {"tpu:0", "tpu:x"})
    EXPECT_THAT(error_of([&] { find_device(name); }),
                StartsWith(concat("device: there is no `", name, "` in this build; it knows cpu")));
  EXPECT_THAT(error_of([] { find_device(""); }),
              StartsWith("device: the name is empty; this build knows cpu"));
  DeviceRegistration other(
      "toy", [](int) -> std::shared_ptr<Device> { fail("toys are out"); },
      [] { return DevicesPresent{}; });
  EXPECT_EQ(error_of([] { find_device("toy:x"); }),
            "device: `toy:x` is not a device name; write for example toy or toy:0");
  for (const char* name : {"cpu:", "cpu:x", "cpu:-1", "cpu:1x", "cpu:99999999999"})
    EXPECT_EQ(error_of([&] { find_device(name); }),
              concat("device: `", name, "` is not a device name; write for example cpu or cpu:0"));
}

TEST(Device, CountsItsMemory) {
  auto device = find_device("cpu:7");
  EXPECT_EQ(device->memory_in_use(), Bytes(0));
  {
    DeviceMemory a = device->allocate(Bytes(1000), "a");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
    EXPECT_EQ(a.size(), Bytes(1000));
    DeviceMemory b = std::move(a);
    DeviceMemory nothing = device->allocate(Bytes(0), "nothing");
    EXPECT_EQ(device->memory_in_use(), Bytes(1000));
    b = DeviceMemory();
    EXPECT_EQ(device->memory_in_use(), Bytes(0));
  }
  EXPECT_EQ(device->memory_in_use(), Bytes(0));
}

TEST(Device, SaysThatMemoryIsShort) {
  DeviceWithoutMemory device;
  EXPECT_THROW(device.allocate(Bytes(10), "a"), OutOfMemory);
  EXPECT_EQ(device.memory_in_use(), Bytes(0));
}

TEST(CpuDevice, AlignsMemoryToLinesAndFromFourHugePagesOnToThose) {
  auto device = find_device("cpu");
  auto is_multiple_of = [&](std::int64_t unit, Bytes size) {
    DeviceMemory memory = device->allocate(size, "test");
    return reinterpret_cast<std::uintptr_t>(memory.data()) % static_cast<std::uintptr_t>(unit) == 0;
  };
  for (std::int64_t size : {0, 1, 65, (8 << 20) - 1})
    EXPECT_TRUE(is_multiple_of(64, Bytes(size))) << size;
  for (std::int64_t size : {8 << 20, (8 << 20) + 1, 31 << 20})
    EXPECT_TRUE(is_multiple_of(2 << 20, Bytes(size))) << size;
}

TEST(Device, KeepsItsLimit) {
  auto device = find_device("cpu:8");
  EXPECT_GT(device->memory_limit().count, 1 << 30);
  device->set_memory_limit(Bytes(4096));
  EXPECT_EQ(device->memory_limit(), Bytes(4096));
  DeviceMemory a = device->allocate(Bytes(3072), "variable w");
  EXPECT_EQ(error_of([&] { device->allocate(Bytes(2048), "the step's arena"); }),
            "the step's arena: over the memory limit on cpu:8: 2.0 KiB asked for, 3.0 KiB in use, "
            "4.0 KiB allowed");
  DeviceMemory rest = device->allocate(Bytes(1024), "the rest");
  EXPECT_EQ(device->memory_in_use(), Bytes(4096));
}

TEST(Stream, Copies) {
  auto device = find_device("cpu");
  auto stream = device->make_stream();
  DeviceMemory a = device->allocate(Bytes(16), "a"), b = device->allocate(Bytes(16), "b");
  std::vector<int> sent{1, 2, 3, 4}, received(4);
  stream->copy_to_device(a.data(), sent.data(), Bytes(16));
  stream->copy_on_device(b.data(), a.data(), Bytes(16));
  stream->copy_to_host(received.data(), b.data(), Bytes(16));
  auto event = device->make_event();
  stream->record(*event);
  event->synchronize();
  EXPECT_TRUE(event->done());
  EXPECT_EQ(received, sent);
}

TEST(Stream, CannotCaptureOnACpu) {
  auto stream = find_device("cpu")->make_stream();
  EXPECT_FALSE(stream->can_capture());
  EXPECT_THAT(error_of([&] { stream->begin_capture(); }), HasSubstr("it cannot capture"));
}

TEST(CpuDevice, SmallWorkStaysOnOneThread) {
  auto device = find_device("cpu:9");
  EXPECT_EQ(device->threads_for(1000, 8), 1);
  EXPECT_EQ(device->threads_for(1e9, 8), 8);
  EXPECT_GE(device->threads_for(1e9, 0), 1);
}

}  // namespace
}  // namespace belfry
