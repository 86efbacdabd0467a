#include "belfry/framework/backend/cuda/limits.h"

#include <gtest/gtest.h>

namespace belfry::cuda {
namespace {

// Figures of cudaGetDeviceProperties and the attributes.
const Properties h100{.name = "NVIDIA H100 80GB HBM3",
                      .major = 9,
                      .multiprocessors = 132,
                      .clock_hz = 1.98e9,
                      .memory_clock_hz = 2.619e9,
                      .memory_bus_bits = 5120};
const Properties a100{.name = "NVIDIA A100-SXM4-80GB",
                      .major = 8,
                      .multiprocessors = 108,
                      .clock_hz = 1.41e9,
                      .memory_clock_hz = 1.593e9,
                      .memory_bus_bits = 5120};

// Its data sheet: 312, 156 and 19.5 TFLOP/s, 2,039 GB/s.
TEST(CudaLimits, FollowTheDataSheet) {
  DeviceLimits limits = limits_of(a100).value();
  EXPECT_NEAR(limits.flops_16, 0.75 * 312e12, 1e12);
  EXPECT_NEAR(limits.flops_tf32, 0.75 * 156e12, 0.5e12);
  EXPECT_NEAR(limits.flops, 0.75 * 19.5e12, 0.1e12);
  EXPECT_NEAR(limits.bytes, 0.9 * 2039e9, 1e9);
}

// Measured on one: a copy 3.02 TB/s, products of 8192 in bf16 720 to 800 TFLOP/s.
TEST(CudaLimits, AreThoseOfAnH100) {
  DeviceLimits limits = limits_of(h100).value();
  EXPECT_NEAR(limits.bytes, 3.02e12, 0.01e12);
  EXPECT_NEAR(limits.flops_16, 800e12, 5e12);
}

TEST(CudaLimits, OfANewerGpuAreThoseOfTheNewestBeforeIt) {
  Properties newer = h100;
  newer.minor = 3;
  EXPECT_EQ(limits_of(newer)->flops_16, limits_of(h100)->flops_16);
  newer.major = 11;
  EXPECT_EQ(limits_of(newer)->flops_16, 2 * limits_of(h100)->flops_16);
}

TEST(CudaLimits, AreNotKnownWhereCudaDoesNotSay) {
  Properties silent = h100;
  silent.memory_clock_hz = 0;
  EXPECT_FALSE(limits_of(silent));
  silent = h100;
  silent.memory_bus_bits = 0;
  EXPECT_FALSE(limits_of(silent));
  EXPECT_FALSE(limits_of({.name = "Test GPU"}));
}

}  // namespace
}  // namespace belfry::cuda
