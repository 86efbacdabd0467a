#include "belfry/framework/base/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace belfry {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// The number behind `key` in a file of lines such as "MemTotal:  16384 kB" or "inactive_file 4096".
std::optional<std::int64_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::int64_t number = 0;
    if (word == key && file >> number) return number;
  }
  return std::nullopt;
}

// A file that is one number; nothing where it says "max".
std::optional<std::int64_t> number_of(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number && number >= 0) return number;
  return std::nullopt;
}

// A group's files have these names. The system gives up what it keeps of files and of its own
// tables before it runs out.
struct GroupFiles {
  const char *folder, *limit, *used;
  std::array<const char*, 3> given_up;
};
constexpr GroupFiles version_1{"/sys/fs/cgroup/memory",
                               "memory.limit_in_bytes",
                               "memory.usage_in_bytes",
                               {"total_inactive_file", "total_active_file", "slab_reclaimable"}};
constexpr GroupFiles version_2{"/sys/fs/cgroup",
                               "memory.max",
                               "memory.current",
                               {"inactive_file", "active_file", "slab_reclaimable"}};

void apply_group(const std::string& group, const GroupFiles& files, HostMemory& memory) {
  auto limit = number_of(group + files.limit);
  if (!limit) return;
  std::int64_t used = number_of(group + files.used).value_or(0);
  for (const char* kept : files.given_up)
    used -= number_in(group + "memory.stat", kept).value_or(0);
  memory.all = std::min(memory.all, Bytes(*limit));
  std::int64_t left = *limit - std::clamp<std::int64_t>(used, 0, *limit);
  memory.available = std::min(memory.available, Bytes(left));
}

// Applies the limits of the group `path`, for example "/user/job", and of all groups above it. A
// container sees its own group at the top, whatever its path is called outside.
void apply_groups(const std::string& root, const GroupFiles& files, std::string path,
                  HostMemory& memory) {
  for (;;) {
    apply_group(root + files.folder + (path == "/" ? "" : path) + "/", files, memory);
    std::size_t parent = path.rfind('/');
    if (parent == std::string::npos || path == "/") return;
    path.resize(parent);
  }
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory memory{Bytes(no_limit), Bytes(no_limit)};
  std::string meminfo = root + "/proc/meminfo";
  if (auto total = number_in(meminfo, "MemTotal:")) {
    memory.all = Bytes(*total * 1024);
  } else if (std::int64_t pages = sysconf(_SC_PHYS_PAGES); pages > 0) {
    memory.all = Bytes(pages * sysconf(_SC_PAGE_SIZE));
  }
  if (auto free = number_in(meminfo, "MemAvailable:"))
    memory.available = Bytes((*free + number_in(meminfo, "SwapFree:").value_or(0)) * 1024);

  // Lines such as "4:memory:/job" (version 1) and "0::/job" (version 2).
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(std::getline(std::getline(parts, number, ':'), controllers, ':'), path);
    bool is_memory = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (controllers.empty()) apply_groups(root, version_2, path, memory);
    if (is_memory) apply_groups(root, version_1, path, memory);
  }
  memory.available = std::min(memory.available, memory.all);
  return memory;
}

}  // namespace belfry
