#pragma once
// Host memory: how much this process may use.

#include <string>

#include "belfry/framework/base/units.h"

namespace belfry {

struct HostMemory {
  Bytes all{0};        ///< what the machine has, or a control group of this process allows
  Bytes available{0};  ///< what of it, and of swap, neither this process nor another one holds
};

/// Reads /proc/meminfo and the limits of control groups, version 1 or 2, of this process and all
/// groups above (kernel documentation, admin-guide/cgroup-v1/memory and cgroup-v2). What cannot be
/// read sets no limit. `root` stands before these paths: for tests.
HostMemory host_memory(const std::string& root = "");

}  // namespace belfry
