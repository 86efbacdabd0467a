#include "failing_allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <unordered_set>

extern "C" {
// The C library's own, under names that nobody defines anew.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

std::atomic<bool> armed{false};
std::atomic<std::int64_t> seen{0}, refused{0}, first{0};
std::atomic<bool> all_behind{false};
std::atomic<std::int64_t> live{0};
std::atomic<bool> library_asked{false};
// Hashes of the calls that led to each allocation.
std::array<std::uint64_t, belfry::most_places> places;

/// Whether code in this file of the process's must be given memory, or this function of it.
bool is_exempt(const void* caller) {
  Dl_info info;
  if (::dladdr(caller, &info) == 0 || !info.dli_fname) return false;
  if (info.dli_sname && std::strcmp(info.dli_sname, "__cxa_allocate_exception") == 0) return true;
  for (const char* name : {"ld-linux", "libgomp", "libc.so", "libdnnl", "libwebp"})
    if (std::strstr(info.dli_fname, name)) return true;
  return false;
}

/// Whether one of the functions nearest to here is of oneDNN or OpenCV, which lose memory when an
/// allocation of their own fails.
bool asked_by_library() {
  std::array<void*, 8> callers{};
  int count = ::backtrace(callers.data(), callers.size());
  return std::any_of(callers.begin(), callers.begin() + count, [](const void* caller) {
    Dl_info info;
    if (::dladdr(caller, &info) == 0 || !info.dli_fname) return false;
    return std::strstr(info.dli_fname, "libdnnl") || std::strstr(info.dli_fname, "libopencv");
  });
}

std::uint64_t hash_of_calls() {
  std::array<void*, 16> callers{};
  int count = ::backtrace(callers.data(), callers.size());
  std::uint64_t hash = 0;
  for (int i = 0; i < count; ++i)
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(callers[i])) * 0x9e3779b97f4a7c15 + 1;
  return hash;
}

/// Counts an allocation; true: it fails.
bool refuse(const void* caller) {
  if (!armed.load(std::memory_order_relaxed)) return false;
  thread_local bool asking = false;  // backtrace() and dladdr() may allocate
  if (asking) return false;
  std::int64_t number = ++seen, at = first;
  if (at != 0 && (number < at || (number > at && !all_behind))) return false;
  asking = true;
  if (at == 0) {
    if (number <= std::ssize(places)) places[number - 1] = hash_of_calls();
    asking = false;
    return false;
  }
  bool exempt = is_exempt(caller);
  if (!exempt && !library_asked) library_asked = asked_by_library();
  asking = false;
  if (exempt) return false;
  ++refused;
  errno = ENOMEM;
  return true;
}

void* counted(void* memory) {
  if (memory) ++live;
  return memory;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  return refuse(__builtin_return_address(0)) ? nullptr : counted(__libc_malloc(bytes));
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return refuse(__builtin_return_address(0)) ? nullptr : counted(__libc_calloc(count, bytes));
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  if (refuse(__builtin_return_address(0))) return nullptr;
  void* moved = __libc_realloc(memory, bytes);
  if (!memory) counted(moved);
  if (memory && !moved && bytes == 0) --live;
  return moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return refuse(__builtin_return_address(0)) ? nullptr : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return refuse(__builtin_return_address(0)) ? nullptr : counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  if (refuse(__builtin_return_address(0))) return ENOMEM;
  void* found = counted(__libc_memalign(alignment, bytes));
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}
void free(void* memory) noexcept {
  if (memory) --live;
  __libc_free(memory);
}

}  // extern "C"

namespace belfry {

FailingAllocations::FailingAllocations(std::int64_t n, Failing how) {
  seen = 0;
  refused = 0;
  library_asked = false;
  first = n;
  all_behind = how == Failing::from_then;
  armed = true;
}
FailingAllocations::~FailingAllocations() { armed = false; }
std::int64_t FailingAllocations::count() const { return seen; }
std::int64_t FailingAllocations::failed() const { return refused; }
bool FailingAllocations::others_lose() const { return library_asked; }

std::vector<std::int64_t> first_of_each_place() {
  std::vector<std::int64_t> out;
  std::unordered_set<std::uint64_t> had;
  for (std::int64_t n = 1; n <= std::min<std::int64_t>(seen, std::ssize(places)); ++n)
    if (had.insert(places[n - 1]).second) out.push_back(n);
  return out;
}

std::int64_t live_allocations() { return live; }

}  // namespace belfry
