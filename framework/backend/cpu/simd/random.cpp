#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

constexpr std::int64_t blocks = 16;  // of four numbers each, drawn together

struct Words {
  alignas(64) std::uint32_t at[4 * blocks];
};

/// Philox4x32-10 as belfry/framework/tensor/philox.h, at `blocks` counters that follow each other.
BELFRY_INLINE void draw(std::uint64_t key, std::uint32_t block, std::uint32_t row,
                        std::uint64_t step, Words& words) {
  BELFRY_VECTORIZE
  for (std::uint32_t b = 0; b < blocks; ++b) {
    std::uint32_t c0 = block + b, c1 = row, c2 = static_cast<std::uint32_t>(step),
                  c3 = static_cast<std::uint32_t>(step >> 32);
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0, p1 = std::uint64_t{0xCD9E8D57} * c2;
      std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    words.at[4 * b] = c0;
    words.at[4 * b + 1] = c1;
    words.at[4 * b + 2] = c2;
    words.at[4 * b + 3] = c3;
  }
}

void dropout(std::uint64_t key, std::uint32_t row, std::uint64_t step, std::int64_t first,
             float rate, float scale, const float* x, float* y, std::int64_t n) {
  Words words;
  for (std::int64_t i = 0; i < n; i += 4 * blocks) {
    draw(key, static_cast<std::uint32_t>((first + i) / 4), row, step, words);
    std::int64_t count = least(4 * blocks, n - i);
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < count; ++l) {
      float uniform = static_cast<float>(static_cast<std::int32_t>(words.at[l] >> 8)) * 0x1p-24f;
      float value = x[i + l] * scale;
      y[i + l] = uniform >= rate ? value : 0;
    }
  }
}

}  // namespace

const RandomLoops random_loops{.dropout = dropout};

}  // namespace belfry::cpu::BELFRY_ISA
