#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/philox.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

template <class T>
void dropout(std::uint64_t key, std::uint32_t row, std::uint64_t step, std::int64_t first,
             float rate, float scale, const T* x, T* y, std::int64_t n) {
  Words words;
  alignas(64) float factors[4 * blocks];
  for (std::int64_t i = 0; i < n; i += 4 * blocks) {
    draw(key, (first + i) / 4, row, step, words);
    BELFRY_VECTORIZE
    for (std::int64_t b = 0; b < blocks; ++b)
      for (int k = 0; k < 4; ++k) {
        float uniform = static_cast<std::int32_t>(words.at[k][b] >> 8);
        factors[4 * b + k] = uniform * 0x1p-24f >= rate ? scale : 0;
      }
    std::int64_t count = least(4 * blocks, n - i);
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < count; ++l) {
      float scaled = value(x, i + l) * factors[l];
      store(y, i + l, factors[l] != 0 ? scaled : 0);  // infinity times 0 would be NaN
    }
  }
}

template <class T>
constexpr RandomLoops<T> table{.dropout = dropout<T>};

}  // namespace

const ForTypes<RandomLoops> random_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
