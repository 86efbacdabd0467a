#pragma once
// Vectors of channels and matrix products, which all files of Winograd's convolution use.

#include "belfry/framework/backend/cpu/simd/isa.h"
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

/// As WinogradLoops says.
void winograd_products(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
                       std::int64_t k, float* m);
void winograd_add_products(const float* a, const float* b, std::int64_t rows, std::int64_t c,
                           std::int64_t k, float* sum);

}  // namespace belfry::cpu::BELFRY_ISA
