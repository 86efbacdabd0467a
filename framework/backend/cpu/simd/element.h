#pragma once
// Elements of 16 bits among the loops: they are read as floats, and results are rounded when they
// are stored. By integer arithmetic that every compiler vectorises, bit for bit as the conversions
// of framework/tensor/dtype.h, which the processor's own would not be for NaN.

#include "belfry/framework/backend/cpu/simd/math.h"
#include "belfry/framework/tensor/dtype.h"

namespace belfry::cpu::BELFRY_ISA {

BELFRY_INLINE float value(const float* x, std::int64_t i) { return x[i]; }

BELFRY_INLINE float value(const BFloat16* x, std::int64_t i) {
  return float_of(static_cast<std::uint32_t>(x[i].bits) << 16);
}

/// condition ? a : b without a branch, which would keep loops with several from being vectorised.
BELFRY_INLINE std::int32_t select(bool condition, std::int32_t a, std::int32_t b) {
  std::int32_t mask = -static_cast<std::int32_t>(condition);
  return (a & mask) | (b & ~mask);
}

/// The exponent's bias grows by 112. Below 2^-14 the mantissa is a multiple of 2^-24: as that of
/// 2^-14 (1 + m 2^-10) it is read first, then 2^-14 goes.
BELFRY_INLINE float value(const Float16* x, std::int64_t i) {
  std::int32_t bits = x[i].bits, magnitude = (bits & 0x7fff) << 13;
  std::int32_t small = bits_of(float_of(magnitude + 0x38800000) - 0x1p-14f);
  std::int32_t result = select(magnitude < 0x00800000, small, magnitude + 0x38000000);
  result = select(magnitude >= 0x0f800000, magnitude | 0x7f800000, result);  // infinity and NaN
  return float_of(result
                  | static_cast<std::int32_t>(static_cast<std::uint32_t>(bits & 0x8000) << 16));
}

BELFRY_INLINE void store(float* y, std::int64_t i, float x) { y[i] = x; }

/// To nearest, ties to even; NaN stays NaN.
BELFRY_INLINE void store(BFloat16* y, std::int64_t i, float x) {
  std::uint32_t bits = bits_of(x);
  std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  std::uint32_t quiet = (bits >> 16) | 0x40;
  y[i].bits = (bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded;
}

/// As above. Adding 0.5 to what is below 2^-14 rounds it to a multiple of 2^-24.
BELFRY_INLINE void store(Float16* y, std::int64_t i, float x) {
  std::int32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
  std::int32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
  std::int32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  std::int32_t result = select(magnitude < 0x38800000, small, normal);
  result = select(magnitude >= 0x477ff000, 0x7c00, result);  // rounds to 65536 or more
  result = select(magnitude > 0x7f800000, 0x7e00, result);
  std::int32_t sign = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits) >> 16) & 0x8000;
  y[i].bits = sign | result;
}

}  // namespace belfry::cpu::BELFRY_ISA
