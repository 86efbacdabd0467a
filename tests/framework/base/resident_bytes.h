#pragma once
// Memory of this process.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>

namespace belfry {

/// In use, in bytes.
inline std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGE_SIZE);
}

/// By how many bytes the memory in use grows in one call of `round`: the median of five, after one
/// that does not count. A leak shows in each; a thread that takes its first memory late, in one.
template <typename Round>
std::int64_t growth_of(Round round) {
  round();
  std::array<std::int64_t, 5> growths;
  for (std::int64_t& growth : growths) {
    std::int64_t before = resident_bytes();
    round();
    growth = resident_bytes() - before;
  }
  std::nth_element(growths.begin(), growths.begin() + 2, growths.end());
  return growths[2];
}

/// Sanitizers watch freed memory for a while, so that resident_bytes() says nothing.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool freed_memory_is_kept = true;
#else
inline constexpr bool freed_memory_is_kept = false;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool freed_memory_is_kept = true;
#else
inline constexpr bool freed_memory_is_kept = false;
#endif

}  // namespace belfry
