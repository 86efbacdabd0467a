#pragma once
// Winograd's transforms along one axis: of pixels, results and taps to the points of a tile and
// back. A window of n taps and a row of m results are polynomials of n and m coefficients, and
// their product's values at n + m - 1 points give the results.

#include "belfry/framework/backend/cpu/simd/winograd.h"

namespace belfry::cpu::BELFRY_ISA {

/// Tiles of 6 by the points 0, a, -a, b, -b and infinity. With a = 5/8 and b = 3/2 every number but
/// the factors of the kernel is exact in float, and errors are half of those with 1 and 2.
struct SixPoints {
  static constexpr int size = 6;
  static constexpr double a = 0.625, b = 1.5;
  // The kernel's factors: 1 over the product of a point's distances from the others.
  static constexpr double at_0 = 1 / (a * a * b * b), at_a = 1 / (2 * a * a * (a * a - b * b)),
                          at_b = 1 / (2 * b * b * (b * b - a * a));

  /// B' d: pixels to points.
  static BELFRY_INLINE void input(const Vec (&d)[6], Vec (&out)[6]) {
    constexpr float a1 = a, a2 = a * a, b1 = b, b2 = b * b;
    constexpr float product = a * a * b * b, sum = a * a + b * b;
    Vec even = d[4] - b2 * d[2], odd = a1 * (d[3] - b2 * d[1]);
    Vec far_even = d[4] - a2 * d[2], far_odd = b1 * (d[3] - a2 * d[1]);
    out[0] = product * d[0] - sum * d[2] + d[4];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = far_even + far_odd;
    out[4] = far_even - far_odd;
    out[5] = product * d[1] - sum * d[3] + d[5];
  }
};

/// Tiles of 5 by the points 0, a, -a, b and infinity. With a = 3/2 and b = 1/2 the products of
/// distances of a and of -a are a power of two apart, which B' takes on. Two taps take these:
/// of the 5x5 results of a tile of 6, a third would be outside where sides are 4, 8 or 16.
struct FivePoints {
  static constexpr int size = 5;
  static constexpr double a = 1.5, b = 0.5;
  static constexpr double at_0 = 1 / (a * a * b), at_a = 1 / (2 * a * a * (a - b)),
                          at_b = 1 / (b * (b * b - a * a));

  static BELFRY_INLINE void input(const Vec (&d)[5], Vec (&out)[5]) {
    constexpr float a1 = a, a2 = a * a, b1 = b, turned = -(a - b) / (a + b);
    Vec first = d[1] - b1 * d[0], second = d[2] - b1 * d[1], third = d[3] - b1 * d[2],
        fourth = d[4] - b1 * d[3];
    out[0] = third - a2 * first;
    out[1] = third + a1 * second;
    out[2] = turned * (third - a1 * second);
    out[3] = d[3] - a2 * d[1];
    out[4] = fourth - a2 * second;
  }
};

/// An axis along which the window has one tap has one point, the number itself.
struct OnePoint {
  static constexpr int size = 1;
  static BELFRY_INLINE void input(const Vec (&d)[1], Vec (&out)[1]) { out[0] = d[0]; }
};

/// The factors of a polynomial's coefficients in its values at 0, at a and -a, at b and -b.
struct Powers {
  float zero, near[5], far[5];
};
template <class Points>
constexpr Powers powers(double at_0, double at_a, double at_b) {
  Powers out{static_cast<float>(at_0), {}, {}};
  for (int i = 0; i < 5; ++i, at_a *= Points::a, at_b *= Points::b) {
    out.near[i] = static_cast<float>(at_a);
    out.far[i] = static_cast<float>(at_b);
  }
  return out;
}

/// A y and G g: N coefficients to the values at all points, those of taps with the kernel's
/// factors.
template <class Points, bool taps, int N>
BELFRY_INLINE void evaluate(const Vec (&y)[N], Vec (&out)[Points::size]) {
  if constexpr (Points::size == 1) {
    out[0] = y[0];
  } else {
    constexpr Powers p =
        taps ? powers<Points>(Points::at_0, Points::at_a, Points::at_b) : powers<Points>(1, 1, 1);
    Vec even = p.near[0] * y[0], odd = p.near[1] * y[1];
    Vec far_even = p.far[0] * y[0], far_odd = p.far[1] * y[1];
    for (int i = 2; i < N; i += 2) {
      even += p.near[i] * y[i];
      far_even += p.far[i] * y[i];
    }
    for (int i = 3; i < N; i += 2) {
      odd += p.near[i] * y[i];
      far_odd += p.far[i] * y[i];
    }
    out[0] = p.zero * y[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = far_even + far_odd;
    if constexpr (Points::size == 6) out[4] = far_even - far_odd;
    out[Points::size - 1] = y[N - 1];
  }
}

/// A' m and G' u: the transpose.
template <class Points, bool taps, int N>
BELFRY_INLINE void transposed(const Vec (&m)[Points::size], Vec (&out)[N]) {
  if constexpr (Points::size == 1) {
    out[0] = m[0];
  } else {
    constexpr Powers p =
        taps ? powers<Points>(Points::at_0, Points::at_a, Points::at_b) : powers<Points>(1, 1, 1);
    Vec even = m[1] + m[2], odd = m[1] - m[2], far_even = m[3], far_odd = m[3];
    if constexpr (Points::size == 6) {
      far_even += m[4];
      far_odd -= m[4];
    }
    out[0] = p.zero * m[0] + p.near[0] * even + p.far[0] * far_even;
    for (int i = 1; i < N; ++i)
      out[i] = p.near[i] * (i % 2 ? odd : even) + p.far[i] * (i % 2 ? far_odd : far_even);
    out[N - 1] += m[Points::size - 1];
  }
}

}  // namespace belfry::cpu::BELFRY_ISA
