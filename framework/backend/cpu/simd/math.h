#pragma once
// Mathematical functions on float without branches or tables, so that compilers vectorise loops
// over them. Results are within 4 units in the last place of the true value over the whole range;
// infinities, NaN and overflow are as in the C++ library. Results below 2^-126 lose precision
// gradually. Written from the series and reductions named at each function.

#include "belfry/framework/backend/cpu/simd/isa.h"

namespace belfry::cpu::BELFRY_ISA {

inline constexpr float infinity = __builtin_inff();
inline constexpr float nan = __builtin_nanf("");
// ln 2 in two parts; the first has 16 bits, so that its product with an exponent is exact.
inline constexpr float ln2_high = 0x1.62e4p-1f;
inline constexpr float ln2_low = 0x1.7f7d1cp-20f;

BELFRY_INLINE std::int32_t bits_of(float x) { return __builtin_bit_cast(std::int32_t, x); }
BELFRY_INLINE float float_of(std::int32_t bits) { return __builtin_bit_cast(float, bits); }
BELFRY_INLINE float abs(float x) { return float_of(bits_of(x) & 0x7fffffff); }
BELFRY_INLINE float copy_sign(float x, float sign) {
  return float_of((bits_of(x) & 0x7fffffff) | (bits_of(sign) & INT32_MIN));
}

/// 2^n for -126 <= n <= 127.
BELFRY_INLINE float power_of_two(std::int32_t n) { return float_of((n + 127u) << 23); }

/// x = n ln 2 + r with |r| <= ln 2 / 2.
struct ExpArgument {
  std::int32_t n;
  float r;
};
BELFRY_INLINE ExpArgument reduce_exp(float x) {
  constexpr float log2_e = 0x1.715476p0f;
  constexpr float round = 0x1.8p23f;  // adding it leaves a whole number in the lowest bits
  float shifted = x * log2_e + round;
  float n = shifted - round;
  auto whole = bits_of(shifted) - 0x4b400000u;
  return {static_cast<std::int32_t>(whole), (x - n * ln2_high) - n * ln2_low};
}

/// (e^r - 1 - r) / r^2: Taylor series.
BELFRY_INLINE float exp_tail(float r) {
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  return p * r + 0.5f;
}

BELFRY_INLINE float exp(float x) {
  float bounded = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;  // NaN stays NaN
  ExpArgument a = reduce_exp(bounded);
  float p = 1 + (a.r + a.r * a.r * exp_tail(a.r));
  std::int32_t half = a.n >> 1;  // two steps: 2^n itself may be beyond the range
  return p * power_of_two(half) * power_of_two(a.n - half);
}

/// The same for x in [-87, 88], within which it is a normal number.
BELFRY_INLINE float normal_exp(float x) {
  ExpArgument a = reduce_exp(x);
  return (1 + (a.r + a.r * a.r * exp_tail(a.r))) * power_of_two(a.n);
}

/// 2^n (e^r - 1) + (2^n - 1), which keeps small results exact; half of it first, for n = 128.
BELFRY_INLINE float expm1(float x) {
  float bounded = x > 89.0f ? 89.0f : x < -30.0f ? -30.0f : x;
  ExpArgument a = reduce_exp(bounded);
  float p = a.r + a.r * a.r * exp_tail(a.r);
  float scale = power_of_two(a.n - 1);
  float y = 2 * (p * scale + (scale - 0.5f));
  return a.n == 0 ? p : y;
}

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1; then log(1 + f) = f - f^2/2 + s (f^2/2 + R)
/// with s = f / (2 + f) and R from the series of artanh, as in Sun's fdlibm.
BELFRY_INLINE float log(float x) {
  bool small = x < 0x1p-126f;
  float scaled = small ? x * 0x1p23f : x;
  std::int32_t offset = bits_of(scaled) - 0x3f3504f3u;  // sqrt(1/2)
  std::int32_t e = offset >> 23;
  float f = float_of((offset & 0x7fffff) + 0x3f3504f3) - 1;
  float s = f / (2 + f);
  float z = s * s;
  float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9))));
  float half_square = 0.5f * f * f;
  float k = small ? e - 23 : e;
  float y = k * ln2_high - ((half_square - (s * (half_square + series) + k * ln2_low)) - f);
  y = x < infinity ? y : x;  // infinity and NaN
  y = x < 0 ? nan : y;
  return x == 0 ? -infinity : y;
}

/// log u + (what rounding u = 1 + x lost) / u.
BELFRY_INLINE float log1p(float x) {
  float u = 1 + x;
  float lost = x - (u - 1);
  float y = log(u) + lost / u;
  y = u == 1 ? x : y;
  return u > 0 && u < infinity ? y : log(u);
}

BELFRY_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }

/// expm1(2|x|) / (expm1(2|x|) + 2), with the sign of x.
BELFRY_INLINE float tanh(float x) {
  float a = abs(x);
  float e = expm1(a > 20.0f ? 40.0f : 2 * a);
  return copy_sign(e / (e + 2), x);
}

/// Up to 1 the Taylor series; above it 1 - exp(p(|x|)), where p interpolates log(erfc) at the
/// Chebyshev nodes of [1, 4].
BELFRY_INLINE float erf(float x) {
  float z = x * x;
  float p = -1.0f / 76204800;
  p = p * z + 1.0f / 6894720;
  p = p * z - 1.0f / 685440;
  p = p * z + 1.0f / 75600;
  p = p * z - 1.0f / 9360;
  p = p * z + 1.0f / 1320;
  p = p * z - 1.0f / 216;
  p = p * z + 1.0f / 42;
  p = p * z - 1.0f / 10;
  p = p * z + 1.0f / 3;
  constexpr float two_over_sqrt_pi = 1.12837917f;
  float near = two_over_sqrt_pi * x * (1 - z * p);
  float a = abs(x);
  float t = (a > 4.0f ? 4.0f : a) - 2.5f;
  float q = 1.6371514158152428e-06f;
  q = q * t - 1.3315014395550971e-05f;
  q = q * t + 7.729137614920449e-05f;
  q = q * t - 4.201225235479624e-04f;
  q = q * t + 2.165303549167386e-03f;
  q = q * t - 1.085854164288985e-02f;
  q = q * t - 9.438937036106520e-01f;
  q = q * t - 5.352680674224489f;
  q = q * t - 7.806815272727264f;
  float far = copy_sign(1 - exp(q), x);
  return a < 1 ? near : far;
}

BELFRY_INLINE float floor(float x) {
#if defined(__SSE4_1__) || !defined(__x86_64__)
  return __builtin_floorf(x);
#else
  bool whole = !(abs(x) < 0x1p23f);
  float t = static_cast<std::int32_t>(whole ? 0.0f : x);
  t = t > x ? t - 1 : t;
  return whole ? x : copy_sign(t, x);
#endif
}

/// exp(y log|x|) in double, from the series of artanh and exp: the product of a float's logarithm
/// with y would lose its last digits in float.
BELFRY_INLINE float pow_positive(float ax, float y) {
  bool small = ax < 0x1p-126f;
  float scaled = small ? ax * 0x1p23f : ax;
  std::int32_t offset = bits_of(scaled) - 0x3f3504f3;
  double f = static_cast<double>(float_of((offset & 0x7fffff) + 0x3f3504f3)) - 1;
  double s = f / (2 + f), z = s * s;
  double series = 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  series = series * z + 2.0;
  std::int32_t e = (offset >> 23) - (small ? 23 : 0);
  double log2_x = s * series * 1.4426950408889634 + e;
  double power = log2_x * y;
  power = power < 129 ? (power > -151 ? power : -151) : 129;  // NaN too, which pow() replaces
  constexpr double round = 0x1.8p52;
  double n = (power + round) - round;
  double r = (power - n) * 0.6931471805599453;
  double p = 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 1.0 / 2;
  p = p * r + 1.0;
  p = p * r + 1.0;
  auto whole = static_cast<std::int32_t>(n);
  std::int32_t half = whole >> 1;
  return static_cast<float>(p * power_of_two(half) * power_of_two(whole - half));
}

BELFRY_INLINE float pow(float x, float y) {
  float ax = abs(x), ay = abs(y);
  float magnitude = pow_positive(ax, y);
  bool shrinks = (ax < 1) != (y < 0);  // towards 0 for growing |y|
  float limit = shrinks ? 0.0f : infinity;
  magnitude = ax == 0 || ax == infinity || ay == infinity ? limit : magnitude;
  magnitude = ax == 1 ? 1.0f : magnitude;

  bool whole = floor(y) == y;
  float halved = 0.5f * y;
  bool odd = whole && ay < 0x1p24f && floor(halved) != halved;
  float result = odd ? copy_sign(magnitude, x) : magnitude;
  result = x < 0 && x > -infinity && !whole ? nan : result;
  result = x != x || y != y ? nan : result;
  return x == 1 || y == 0 ? 1.0f : result;
}

/// These functions as the policy `M` of framework/ops/elementwise/functors.h.
struct FastMath {
  static BELFRY_INLINE float exp(float x) { return BELFRY_ISA::exp(x); }
  static BELFRY_INLINE float expm1(float x) { return BELFRY_ISA::expm1(x); }
  static BELFRY_INLINE float log(float x) { return BELFRY_ISA::log(x); }
  static BELFRY_INLINE float log1p(float x) { return BELFRY_ISA::log1p(x); }
  static BELFRY_INLINE float sqrt(float x) { return BELFRY_ISA::sqrt(x); }
  static BELFRY_INLINE float tanh(float x) { return BELFRY_ISA::tanh(x); }
  static BELFRY_INLINE float erf(float x) { return BELFRY_ISA::erf(x); }
  static BELFRY_INLINE float pow(float x, float y) { return BELFRY_ISA::pow(x, y); }
  static BELFRY_INLINE float floor(float x) { return BELFRY_ISA::floor(x); }
};

}  // namespace belfry::cpu::BELFRY_ISA
