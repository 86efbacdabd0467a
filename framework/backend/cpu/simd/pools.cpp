#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// Count: known beforehand, so that best and place stay in registers; 0: not.
template <int Count>
BELFRY_INLINE void max_taps(const float* const* taps, const std::uint8_t* places, int count,
                            std::int64_t c, float* y, std::uint8_t* index) {
  const float* tap[Count];
  std::int32_t place[Count];
  for (int t = 0; t < Count; ++t) {
    tap[t] = taps[t < count ? t : 0];
    place[t] = places[t < count ? t : 0];
  }
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < c; ++j) {
    float best = tap[0][j];
    std::int32_t at = place[0];
    for (int t = 1; t < Count; ++t) {
      float value = tap[t][j];
      bool wins = !(value <= best) && best == best;  // larger, or the first NaN
      best = wins ? value : best;
      at = wins ? place[t] : at;
    }
    y[j] = best;
    index[j] = static_cast<std::uint8_t>(at);
  }
}

void max(const float* const* taps, const std::uint8_t* places, int count, std::int64_t c, float* y,
         std::uint8_t* index) {
  if (count <= 4) return max_taps<4>(taps, places, count, c, y, index);
  if (count <= 9) return max_taps<9>(taps, places, count, c, y, index);
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < c; ++j) {
    y[j] = taps[0][j];
    index[j] = places[0];
  }
  for (int t = 1; t < count; ++t) {
    const float* tap = taps[t];
    std::uint8_t place = places[t];
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      bool wins = !(tap[j] <= y[j]) && y[j] == y[j];
      y[j] = wins ? tap[j] : y[j];
      index[j] = wins ? place : index[j];
    }
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
