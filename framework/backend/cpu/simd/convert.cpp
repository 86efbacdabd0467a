#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

template <class T>
void load(const T* x, float* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = value(x, i);
}

template <class T>
void store_all(const float* x, T* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) store(y, i, x[i]);
}

template <class T>
constexpr ConvertLoops<T> table{.load = load, .store = store_all};

}  // namespace

const ForTypes<ConvertLoops> convert_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
