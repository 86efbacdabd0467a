#pragma once
// Sums over the rows of a matrix, a block of columns at a time.

#include "belfry/framework/backend/cpu/simd/isa.h"

namespace belfry::cpu::BELFRY_ISA {

inline constexpr std::int64_t column_block = 256;  // float accumulators of a block stay in L1
inline constexpr std::int64_t float_rows = 64;     // rows summed in float, before double

/// Sums of N terms over rows: total[k][j] = sum over r of term k at (r, j). `terms(r, j, t)` writes
/// the terms t[0..N) at a place. Four rows are added to each other first: fewer accesses to the
/// accumulators, and a smaller error.
template <int N, class Terms>
BELFRY_INLINE void sum_columns(std::int64_t rows, std::int64_t c, double* const (&total)[N],
                               const Terms& terms) {
  for (std::int64_t first = 0; first < c; first += column_block) {
    std::int64_t width = least(column_block, c - first);
    for (int k = 0; k < N; ++k)
      for (std::int64_t j = 0; j < width; ++j) total[k][first + j] = 0;
    for (std::int64_t row = 0; row < rows; row += float_rows) {
      std::int64_t end = least(row + float_rows, rows), r = row;
      alignas(64) float sums[N][column_block];
      for (int k = 0; k < N; ++k)
        for (std::int64_t j = 0; j < width; ++j) sums[k][j] = 0;
      for (; r + 4 <= end; r += 4) {
        BELFRY_VECTORIZE
        for (std::int64_t j = 0; j < width; ++j) {
          float t0[N], t1[N], t2[N], t3[N];
          terms(r, first + j, t0);
          terms(r + 1, first + j, t1);
          terms(r + 2, first + j, t2);
          terms(r + 3, first + j, t3);
          for (int k = 0; k < N; ++k) sums[k][j] += (t0[k] + t1[k]) + (t2[k] + t3[k]);
        }
      }
      for (; r < end; ++r) {
        BELFRY_VECTORIZE
        for (std::int64_t j = 0; j < width; ++j) {
          float t[N];
          terms(r, first + j, t);
          for (int k = 0; k < N; ++k) sums[k][j] += t[k];
        }
      }
      for (int k = 0; k < N; ++k) {
        BELFRY_VECTORIZE
        for (std::int64_t j = 0; j < width; ++j)
          total[k][first + j] += static_cast<double>(sums[k][j]);
      }
    }
  }
}

}  // namespace belfry::cpu::BELFRY_ISA
