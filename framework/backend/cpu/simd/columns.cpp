#include "belfry/framework/backend/cpu/simd/columns.h"

#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

template <class T>
void sum(const T* x, std::int64_t rows, std::int64_t c, double* sums) {
  sum_columns<1>(rows, c, {sums},
                 [=](std::int64_t r, std::int64_t j, float* t) { t[0] = value(x, r * c + j); });
}

template <class T>
void max(const T* x, std::int64_t rows, std::int64_t c, T* out) {
  for (std::int64_t j = 0; j < c; ++j) store(out, j, -infinity);
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float a = value(out, j), b = value(x, r * c + j);
      store(out, j, a >= b || a != a ? a : b);
    }
  }
}

template <class T>
void min(const T* x, std::int64_t rows, std::int64_t c, T* out) {
  for (std::int64_t j = 0; j < c; ++j) store(out, j, infinity);
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float a = value(out, j), b = value(x, r * c + j);
      store(out, j, a <= b || a != a ? a : b);
    }
  }
}

template <class T>
constexpr ColumnLoops<T> table{.sum = sum<T>, .max = max<T>, .min = min<T>};

}  // namespace

const ForTypes<ColumnLoops> column_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
