#pragma once
// The standard normal distribution, with the mathematical functions of `M` as functors.h has them.
// nvcc reads this file too.

#include "belfry/framework/base/host_device.h"

// A call would keep loops from being vectorised, and the linker one copy for all instruction sets.
#if defined(__CUDACC__)
#define BELFRY_IN_LOOPS __host__ __device__
#else
#define BELFRY_IN_LOOPS [[gnu::always_inline]] inline
#endif

namespace belfry {

/// The function of the standard normal distribution, and its density.
///@{
template <class M, class T>
BELFRY_IN_LOOPS T normal_cdf(T x) {
  return T(0.5) * (T(1) + M::erf(x * T(0.70710678118654752)));  // 1 / sqrt(2)
}
template <class M, class T>
BELFRY_IN_LOOPS T normal_pdf(T x) {
  return T(0.39894228040143268) * M::exp(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
}
///@}

/// The former by way of tanh, (1 + tanh(v / 2)) / 2 = 1 / (1 + exp(-v)) with v = 2 sqrt(2 / pi)
/// (z + 0.044715 z^3): Hendrycks and Gimpel, "Gaussian error linear units", 2016.
template <class T>
struct NormalByTanh {
  static constexpr double factor = 1.5957691216057308, cubic = 0.044715;  // 2 sqrt(2 / pi)
  /// Where x is beyond, the value is 0 or 1 to the last bit, and slope() stays finite.
  static constexpr double far = 30;
  T z, square;
  BELFRY_IN_LOOPS explicit NormalByTanh(T x) : z(within(x)), square(z * z) {}
  template <class M>
  BELFRY_IN_LOOPS T value() const {
    return T(1) / (T(1) + M::exp(T(-factor) * z * (T(1) + T(cubic) * square)));
  }
  /// The slope of v over x.
  BELFRY_IN_LOOPS T slope() const { return T(factor) * (T(1) + T(3 * cubic) * square); }

 private:
  BELFRY_IN_LOOPS static T within(T x) {
    T below = x > T(far) ? T(far) : x;
    return below < T(-far) ? T(-far) : below;  // NaN stays NaN
  }
};

}  // namespace belfry

#undef BELFRY_IN_LOOPS
