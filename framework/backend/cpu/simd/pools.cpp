#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// The larger of `best` and `tap`, or the first NaN. Not inlined: within the loop over taps g++
/// reorders the two loops and then vectorises neither.
__attribute__((noinline)) void challenge(const float* tap, std::int32_t place, std::int64_t width,
                                         float* best, std::int32_t* winner) {
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < width; ++j) {
    float value = tap[j], so_far = best[j];
    std::int32_t before = winner[j];
    bool keeps = so_far >= value || so_far != so_far;
    best[j] = keeps ? so_far : value;
    winner[j] = keeps ? before : place;
  }
}

void max(const float* const* taps, const std::uint8_t* places, int count, std::int64_t c, float* y,
         std::uint8_t* index) {
  constexpr std::int64_t block = 128;
  alignas(64) std::int32_t winner[block];
  for (std::int64_t first = 0; first < c; first += block) {
    std::int64_t width = least(block, c - first);
    float* best = y + first;
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) best[j] = taps[0][first + j];
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) winner[j] = places[0];
    for (int t = 1; t < count; ++t) challenge(taps[t] + first, places[t], width, best, winner);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j)
      index[first + j] = static_cast<std::uint8_t>(winner[j]);
  }
}

void max_gradient(const float* const* dy, const std::uint8_t* const* index,
                  const std::uint8_t* places, int count, std::int64_t c, float* dx) {
  if (count == 0)
    for (std::int64_t j = 0; j < c; ++j) dx[j] = 0;
  for (int t = 0; t < count; ++t) {
    const float* from = dy[t];
    const std::uint8_t* winner = index[t];
    std::int32_t place = places[t];
    if (t == 0) {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < c; ++j) {
        float value = from[j];
        dx[j] = winner[j] == place ? value : 0;
      }
    } else {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < c; ++j) {
        float value = from[j];
        dx[j] += winner[j] == place ? value : 0;
      }
    }
  }
}

void weighted_sum(const float* const* taps, const float* weights, int count, std::int64_t c,
                  float* y) {
  if (count == 0)
    for (std::int64_t j = 0; j < c; ++j) y[j] = 0;
  for (int t = 0; t < count; ++t) {
    const float* tap = taps[t];
    float weight = weights[t];
    if (t == 0) {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < c; ++j) y[j] = tap[j] * weight;
    } else {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < c; ++j) y[j] += tap[j] * weight;
    }
  }
}

}  // namespace

const PoolLoops pool_loops{.max = max, .max_gradient = max_gradient, .weighted_sum = weighted_sum};

}  // namespace belfry::cpu::BELFRY_ISA
