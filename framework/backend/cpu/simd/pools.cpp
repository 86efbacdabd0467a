#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

constexpr std::int64_t block = 128;  // channels whose results stay in registers and L1 as floats

/// The larger of `best` and `tap`, or the first NaN. Not inlined: within the loop over taps g++
/// reorders the two loops and then vectorises neither.
template <class T>
__attribute__((noinline)) void challenge(const T* tap, std::int32_t number, std::int64_t width,
                                         float* best, std::int32_t* winner) {
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < width; ++j) {
    float challenger = value(tap, j), so_far = best[j];
    std::int32_t before = winner[j];
    bool keeps = so_far >= challenger || so_far != so_far;
    best[j] = keeps ? so_far : challenger;
    winner[j] = keeps ? before : number;
  }
}

template <class T>
void max(const T* const* taps, const std::uint8_t* numbers, int count, std::int64_t c, T* y,
         std::uint8_t* index) {
  alignas(64) std::int32_t winner[block];
  alignas(64) float best[block];
  for (std::int64_t first = 0; first < c; first += block) {
    std::int64_t width = least(block, c - first);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) best[j] = value(taps[0], first + j);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) winner[j] = numbers[0];
    for (int t = 1; t < count; ++t) challenge(taps[t] + first, numbers[t], width, best, winner);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) store(y, first + j, best[j]);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) index[first + j] = winner[j];
  }
}

/// y = sum over taps of term(tap, place in it): the first is taken as it is, so that a sum of one
/// has its sign of zero.
template <class T, class Term>
BELFRY_INLINE void sum_taps(int count, std::int64_t c, T* y, const Term& term) {
  alignas(64) float sums[block];
  for (std::int64_t first = 0; first < c; first += block) {
    std::int64_t width = least(block, c - first);
    if (count == 0)
      for (std::int64_t j = 0; j < width; ++j) sums[j] = 0;
    for (int t = 0; t < count; ++t) term(t, first, width, sums);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) store(y, first + j, sums[j]);
  }
}

template <class T>
void max_gradient(const T* const* dy, const std::uint8_t* const* index, const std::uint8_t* numbers,
                  int count, std::int64_t c, T* dx) {
  sum_taps(count, c, dx, [=](int t, std::int64_t first, std::int64_t width, float* sums) {
    const T* from = dy[t] + first;
    const std::uint8_t* winner = index[t] + first;
    std::int32_t number = numbers[t];
    if (t == 0) {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < width; ++j) {
        float gradient = value(from, j);
        sums[j] = winner[j] == number ? gradient : 0;
      }
    } else {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < width; ++j) {
        float gradient = value(from, j);
        sums[j] += winner[j] == number ? gradient : 0;
      }
    }
  });
}

template <class T>
void weighted_sum(const T* const* taps, const float* weights, int count, std::int64_t c, T* y) {
  sum_taps(count, c, y, [=](int t, std::int64_t first, std::int64_t width, float* sums) {
    const T* tap = taps[t] + first;
    float weight = weights[t];
    if (t == 0) {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < width; ++j) sums[j] = value(tap, j) * weight;
    } else {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < width; ++j) sums[j] += value(tap, j) * weight;
    }
  });
}

template <class T>
constexpr PoolLoops<T> table{
    .max = max<T>, .max_gradient = max_gradient<T>, .weighted_sum = weighted_sum<T>};

}  // namespace

const ForTypes<PoolLoops> pool_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
