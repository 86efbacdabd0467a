#pragma once
// Philox4x32-10 for several counters at a time: the random numbers of framework/ops/random/draw.h.

#if defined(__AVX512F__)
#if !defined(__clang__)
// In immintrin.h itself (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

#include "belfry/framework/backend/cpu/simd/isa.h"

namespace belfry::cpu::BELFRY_ISA {

inline constexpr std::int64_t blocks = 16;  // of four numbers each, drawn together

struct Words {
  alignas(64) std::uint32_t at[4][blocks];
};

#if defined(__AVX512F__)

/// The products of 32-bit lanes with m: low and high words. By hand, as g++ multiplies 64-bit lanes
/// at a third of the speed.
BELFRY_INLINE void multiply(__m512i a, __m512i m, __m512i& low, __m512i& high) {
  __m512i even = _mm512_mul_epu32(a, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), m);
  low = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
  high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

/// Philox4x32-10 as belfry/framework/tensor/philox.h, at `blocks` counters that follow each other:
/// word i of block b at [i][b].
BELFRY_INLINE void draw(std::uint64_t key, std::uint32_t block, std::uint32_t row,
                        std::uint64_t step, Words& words) {
  auto same = [](std::uint64_t x) { return _mm512_set1_epi32(static_cast<int>(x & 0xffffffff)); };
  __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i c0 = _mm512_add_epi32(same(block), first), c1 = same(row), c2 = same(step),
          c3 = same(step >> 32), k0 = same(key), k1 = same(key >> 32);
  for (int round = 0; round < 10; ++round) {
    __m512i low0, high0, low1, high1;
    multiply(c0, same(0xD2511F53), low0, high0);
    multiply(c2, same(0xCD9E8D57), low1, high1);
    c0 = _mm512_xor_si512(_mm512_xor_si512(high1, c1), k0);
    c2 = _mm512_xor_si512(_mm512_xor_si512(high0, c3), k1);
    c1 = low1;
    c3 = low0;
    k0 = _mm512_add_epi32(k0, same(0x9E3779B9));
    k1 = _mm512_add_epi32(k1, same(0xBB67AE85));
  }
  _mm512_store_si512(words.at[0], c0);
  _mm512_store_si512(words.at[1], c1);
  _mm512_store_si512(words.at[2], c2);
  _mm512_store_si512(words.at[3], c3);
}

#else

BELFRY_INLINE std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{a} * b >> 32;
}

BELFRY_INLINE void draw(std::uint64_t key, std::uint32_t block, std::uint32_t row,
                        std::uint64_t step, Words& words) {
  BELFRY_VECTORIZE
  for (std::uint32_t b = 0; b < blocks; ++b) {
    std::uint32_t c0 = block + b, c1 = row, c2 = step, c3 = step >> 32;
    std::uint32_t k0 = key, k1 = key >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      std::uint32_t n0 = high_product(0xCD9E8D57, c2) ^ c1 ^ k0;
      std::uint32_t n2 = high_product(0xD2511F53, c0) ^ c3 ^ k1;
      c1 = 0xCD9E8D57 * c2;
      c3 = 0xD2511F53 * c0;
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    words.at[0][b] = c0;
    words.at[1][b] = c1;
    words.at[2][b] = c2;
    words.at[3][b] = c3;
  }
}

#endif

}  // namespace belfry::cpu::BELFRY_ISA
