#pragma once
// Vectors of channels and matrix products, which all files of Winograd's convolution use.

#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu::BELFRY_ISA {

#if defined(__AVX512F__)
inline constexpr int width = 16;
#elif defined(__AVX__)
inline constexpr int width = 8;
#else
inline constexpr int width = 4;
#endif
inline constexpr std::int64_t panel = winograd_channels;

using Vec [[gnu::vector_size(width * sizeof(float))]] = float;
using VecAnywhere
    [[gnu::vector_size(width * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] =
        float;

BELFRY_INLINE Vec load(const float* p) { return *reinterpret_cast<const VecAnywhere*>(p); }
BELFRY_INLINE void store(float* p, Vec v) { *reinterpret_cast<VecAnywhere*>(p) = v; }

/// Elements of 16 bits, by way of an array that compilers keep in registers.
template <class T>
BELFRY_INLINE Vec load(const T* p) {
  float values[width];
  BELFRY_VECTORIZE
  for (int i = 0; i < width; ++i) values[i] = value(p, i);
  return load(values);
}
template <class T>
BELFRY_INLINE void store(T* p, Vec v) {
  float values[width];
  store(values, v);
  BELFRY_VECTORIZE
  for (int i = 0; i < width; ++i) store(p, i, values[i]);
}

/// As WinogradLoops says.
void winograd_products(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
                       std::int64_t k, float* m);
void winograd_add_products(const float* a, const float* b, bool write, std::int64_t rows,
                           std::int64_t c, std::int64_t k, float* sum);

}  // namespace belfry::cpu::BELFRY_ISA
