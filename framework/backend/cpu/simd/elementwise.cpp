#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"
#include "belfry/framework/ops/elementwise/functors.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

BELFRY_INLINE float as_float(float x) { return x; }
BELFRY_INLINE float as_float(bool x) { return x ? 1.0f : 0.0f; }  // a cast is not vectorised

template <class F>
void run(const float* a, const float* b, const float* c, float* out, std::int64_t n) {
  n = n / lanes * lanes;  // tells the compiler that nothing is left over
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (F::arity == 1)
      out[i] = as_float(F::template apply<FastMath, float>(a[i]));
    else if constexpr (F::arity == 2)
      out[i] = as_float(F::template apply<FastMath, float>(a[i], b[i]));
    else
      out[i] = as_float(F::template apply<FastMath, float>(a[i] != 0, b[i], c[i]));
  }
  static_cast<void>(b);
  static_cast<void>(c);
}

template <class List>
struct Table;
template <class... F>
struct Table<std::tuple<F...>> {
  static constexpr int count = sizeof...(F);
  static constexpr ElementwiseLoop entries[] = {{F::name, run<F>}...};
};

void from_bytes(const std::uint8_t* x, float* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

void to_booleans(const float* x, std::uint8_t* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] != 0 ? 1 : 0;
}

}  // namespace

const ElementwiseLoops elementwise_loops{.ops = Table<Functors>::entries,
                                         .count = Table<Functors>::count,
                                         .from_bytes = from_bytes,
                                         .to_booleans = to_booleans};

}  // namespace belfry::cpu::BELFRY_ISA
