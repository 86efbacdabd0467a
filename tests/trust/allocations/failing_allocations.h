#pragma once
// Memory that runs out on demand. The test program defines malloc and its relatives, so that every
// allocation in it counts: of the code under test, the standard library, oneDNN, oneTBB, OpenCV.

#include <cstdint>
#include <vector>

namespace belfry {

/// The way in which allocations fail.
enum class Failing : std::uint8_t {
  once,      ///< the n-th alone
  from_then  ///< the n-th and all behind it
};

/// While one lives, allocations of all threads are counted, and fail as asked for. There is one at
/// a time.
///
/// Allocations of the dynamic linker, of libgomp, of the C library, and of oneDNN's and libwebp's
/// own code always succeed: the first two end the process where they find no memory, the last two
/// read through null, and none is Belfry's to answer for. What oneDNN allocates through the C++
/// library fails. Exceptions are always allocated: the reserve that libstdc++ 12 has for them loses
/// places when they are freed in another order than they were made, and ends the process once it is
/// empty.
class FailingAllocations {
 public:
  /// `n` counts from 1; 0: none fails.
  explicit FailingAllocations(std::int64_t n, Failing how = Failing::once);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  std::int64_t count() const;   ///< allocations so far
  std::int64_t failed() const;  ///< of these, refused
  /// Whether one of those was asked for by a library that then loses memory: oneDNN, OpenCV.
  bool others_lose() const;
};

/// The first allocation from each place in the code, among those that were counted last, where none
/// failed; at most `most_places`. The calls nearest to an allocation tell places apart, a dozen of
/// them beside the allocator's own.
std::vector<std::int64_t> first_of_each_place();

/// How many allocations are told apart.
constexpr std::int64_t most_places = 1 << 20;

/// Allocations of the process that are not freed.
std::int64_t live_allocations();

}  // namespace belfry
