#pragma once
// Sharing a loop among the threads that oneDNN uses too.

#include <cstdint>

namespace belfry::cpu {

/// Calls body(begin, end) for pieces that cover [0, count), each but the last a multiple of
/// `grain`, on `threads` threads. Piece borders depend on count, grain and threads alone.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, int threads, const Body& body) {
  std::int64_t grains = (count + grain - 1) / grain;
  int pieces = static_cast<int>(grains < threads ? grains : threads);
  if (pieces <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(pieces) schedule(static, 1)
  for (int piece = 0; piece < pieces; ++piece) {
    std::int64_t begin = grains * piece / pieces * grain;
    std::int64_t end = grains * (piece + 1) / pieces * grain;
    body(begin, end < count ? end : count);
  }
}

}  // namespace belfry::cpu
