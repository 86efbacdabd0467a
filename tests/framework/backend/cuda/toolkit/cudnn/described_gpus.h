#pragma once
// GPUs in the words of cuDNN 9.19, which finds plans for them where they are not.

#include <string>

#include "belfry/framework/base/text.h"

namespace belfry::cuda {

/// The properties in which the described GPUs differ.
struct DescribedGpu {
  const char* name;
  int version, multiprocessors;  ///< 900 is 9.0
  int clock_khz, memory_clock_khz;
  long long memory;
  int l2_bytes, shared_bytes;
};

inline constexpr DescribedGpu a100{"NVIDIA A100", 800,         108,      1410000,
                                   1593000,       85097185280, 41943040, 166912};
inline constexpr DescribedGpu h100{"NVIDIA H100", 900,         132,      1980000,
                                   2619000,       85017493504, 52428800, 232448};
inline constexpr DescribedGpu h200{"NVIDIA H200", 900,          132,      1980000,
                                   3201000,       150754820096, 62914560, 232448};

inline std::string described(const DescribedGpu& gpu) {
  return concat(R"({"cudaDeviceId": 0, "deviceName": ")", gpu.name, R"(", "deviceVer": )",
                gpu.version, R"(, "driverVer": 13000, "isTccDriver": 0, "l2CacheSize": )",
                gpu.l2_bytes, R"(, "maxBlockSize": [1024, 1024, 64], "maxCtasPerSM": 32,
    "maxGridSize": [2147483647, 65535, 65535], "maxRegistersPerSM": 65536,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": )",
                gpu.shared_bytes, R"(, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
    "memClockRateKHz": )",
                gpu.memory_clock_khz, R"(, "multiProcessorCount": )", gpu.multiprocessors,
                R"(, "pciDeviceId": 0, "regsPerBlock": 65536, "reservedSharedMemoryPerBlock": 1024,
    "smClockRateKHz": )",
                gpu.clock_khz, R"(, "supportCoopLaunch": 1, "totalGlobalMem": )", gpu.memory,
                R"(, "warpSize": 32})");
}

}  // namespace belfry::cuda
