#pragma once
// Sharing a loop among the threads that oneDNN uses too.

#include <cstdint>

namespace belfry::cpu {

/// a / b, rounded up; a >= 0, b > 0.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Calls run(piece, context) for each piece in [0, pieces), on as many threads.
void run_pieces(int pieces, void (*run)(int piece, const void* context), const void* context);

/// Calls body(begin, end) for pieces that cover [0, count), each but the last a multiple of
/// `grain`, on `threads` threads. Piece borders depend on count, grain and threads alone.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, int threads, const Body& body) {
  std::int64_t grains = ceil_div(count, grain);
  int pieces = grains < threads ? grains : threads;
  if (pieces <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  auto run = [&](int piece) {
    std::int64_t begin = grains * piece / pieces * grain;
    std::int64_t end = grains * (piece + 1) / pieces * grain;
    body(begin, end < count ? end : count);
  };
  run_pieces(
      pieces,
      [](int piece, const void* context) { (*static_cast<const decltype(run)*>(context))(piece); },
      &run);
}

}  // namespace belfry::cpu
