#include "belfry/framework/backend/cpu/simd/columns.h"

#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

void sum(const float* x, std::int64_t rows, std::int64_t c, double* sums) {
  sum_columns<1>(rows, c, {sums},
                 [=](std::int64_t r, std::int64_t j, float* t) { t[0] = x[r * c + j]; });
}

void max(const float* x, std::int64_t rows, std::int64_t c, float* out) {
  for (std::int64_t j = 0; j < c; ++j) out[j] = -infinity;
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float a = out[j], b = x[r * c + j];
      out[j] = a >= b || a != a ? a : b;
    }
  }
}

void min(const float* x, std::int64_t rows, std::int64_t c, float* out) {
  for (std::int64_t j = 0; j < c; ++j) out[j] = infinity;
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float a = out[j], b = x[r * c + j];
      out[j] = a <= b || a != a ? a : b;
    }
  }
}

}  // namespace

const ColumnLoops column_loops{.sum = sum, .max = max, .min = min};

}  // namespace belfry::cpu::BELFRY_ISA
