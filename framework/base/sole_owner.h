#pragma once
// Memory that goes round: whether somebody else still uses it.

#include <atomic>
#include <memory>

#if defined(__has_feature)
#define BELFRY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define BELFRY_HAS_FEATURE(feature) 0
#endif

namespace belfry {

/// Whether `handle` is the only one to what it owns (or owns nothing). If so, whatever other
/// threads did through handles that they gave up has happened before: the memory may be
/// overwritten.
inline bool sole_owner(const std::shared_ptr<void>& handle) {
  if (handle.use_count() > 1) return false;
#if defined(__SANITIZE_THREAD__) || BELFRY_HAS_FEATURE(thread_sanitizer)
  // ThreadSanitizer does not understand fences; taking a handle orders as much, for more time.
  [[maybe_unused]] std::shared_ptr<void> ordered = handle;
#else
  // use_count() orders nothing. The fence comes after the release of the last other handle.
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

}  // namespace belfry
