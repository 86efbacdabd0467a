#include "belfry/framework/base/host_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

namespace belfry {
namespace {

// A machine of 1,000 KiB, 600 of them free.
class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() {
    write("/proc/meminfo", "MemTotal:    1000 kB\nMemFree:  10 kB\nMemAvailable:     600 kB\n");
  }
  void write(const std::string& path, const std::string& content) {
    std::filesystem::path file = root.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  void expect(std::int64_t all, std::int64_t available) {
    HostMemory found = host_memory(root.path());
    EXPECT_EQ(found.all.count, all);
    EXPECT_EQ(found.available.count, available);
  }

  TemporaryFolder root;
};

TEST_F(HostMemoryTest, WithoutGroupsIsTheMachines) {
  expect(1000 * 1024, 600 * 1024);
  write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapFree: 100 kB\n");
  expect(1000 * 1024, 700 * 1024);
}

TEST_F(HostMemoryTest, AGroupLimitsIt) {
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/memory.max", "max\n");
  expect(1000 * 1024, 600 * 1024);
  write("/sys/fs/cgroup/job/memory.max", "500000\n");
  expect(500000, 500000);
  write("/sys/fs/cgroup/job/memory.current", "450000\n");
  expect(500000, 50000);
  write("/sys/fs/cgroup/job/memory.stat",
        "anon 5\ninactive_file 100000\nactive_file 50000\nslab 7\nslab_reclaimable 1000\n");
  expect(500000, 201000);  // the system gives these up
}

TEST_F(HostMemoryTest, SoDoesAGroupAboveIt) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "600000\n");
  write("/sys/fs/cgroup/outer/memory.max", "400000\n");
  write("/sys/fs/cgroup/outer/memory.current", "390000\n");
  expect(400000, 10000);
  write("/sys/fs/cgroup/outer/memory.max", "700000\n");  // its other groups fill it
  write("/sys/fs/cgroup/outer/memory.current", "680000\n");
  expect(600000, 20000);
}

// A container names its group by the path outside, and sees it at the top.
TEST_F(HostMemoryTest, ThatOfAContainerIsAtTheTop) {
  write("/proc/self/cgroup", "0::/docker/1a2b\n");
  write("/sys/fs/cgroup/memory.max", "300000\n");
  expect(300000, 300000);
}

TEST_F(HostMemoryTest, OfTheFirstVersionToo) {
  write("/proc/self/cgroup", "3:cpu,cpuacct:/\n4:memory:/job\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  expect(1000 * 1024, 600 * 1024);
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "200000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "90000\n");
  write("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 40000\n");
  expect(200000, 150000);
}

TEST_F(HostMemoryTest, WhatCannotBeReadSetsNoLimit) {
  write("/proc/self/cgroup", "nonsense\n0::\n0::job\n4:memory\n");
  write("/sys/fs/cgroup/memory.max", "nonsense");
  expect(1000 * 1024, 600 * 1024);
}

TEST(HostMemory, OfThisMachine) {
  HostMemory found = host_memory();
  EXPECT_GT(found.available.count, 1 << 20);
  EXPECT_LE(found.available, found.all);
}

}  // namespace
}  // namespace belfry
