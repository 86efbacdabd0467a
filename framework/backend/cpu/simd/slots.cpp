#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/philox.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

using Rounding = StateRounding<FastMath>;

void draw_words(std::uint64_t key, std::uint32_t group, std::uint64_t step, std::int64_t first,
                std::uint32_t* words) {
  Words drawn;
  for (std::int64_t i = 0; i < state_block; i += 4 * blocks) {
    draw(key, (first + i) / 4, group, step, drawn);
    BELFRY_VECTORIZE
    for (std::int64_t b = 0; b < blocks; ++b)
      for (int k = 0; k < 4; ++k) words[i + 4 * b + k] = drawn.at[k][b];
  }
}

void store_bf16(const float* x, const std::uint32_t* words, int shift, BFloat16* y,
                std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i].bits = Rounding::bf16(x[i], words[i] >> shift);
}

template <bool Signed>
void load(const std::uint8_t* block, float* x, std::int64_t n) {
  float scale;
  __builtin_memcpy(&scale, block, sizeof(scale));
  const std::uint8_t* codes = block + sizeof(scale);
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) x[i] = EightBits<FastMath, Signed>::decode(codes[i], scale);
}

template <bool Signed>
void store(const float* x, const std::uint32_t* words, int shift, std::uint8_t* block,
           std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t magnitude = Rounding::magnitude_bits(x[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  float scale = Rounding::scale(largest);
  __builtin_memcpy(block, &scale, sizeof(scale));
  std::uint8_t* codes = block + sizeof(scale);
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    codes[i] = EightBits<FastMath, Signed>::encode(x[i], scale, words[i] >> shift);
}

}  // namespace

const SlotLoops slot_loops{.draw = draw_words,
                           .store_bf16 = store_bf16,
                           .eight_bits = {{load<false>, store<false>}, {load<true>, store<true>}}};

}  // namespace belfry::cpu::BELFRY_ISA
