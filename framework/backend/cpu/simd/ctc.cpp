#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// exp(a - b) for a <= b, to be added to 1. It is 0 for two infinities, and from where on 1 + x is
/// 1 in double, too: so that its square is no denormal number, which would take processors long.
BELFRY_INLINE float exp_of_difference(double a, double b) {
  auto x = static_cast<float>(a - b);
  return x > -42.0f ? normal_exp(x) : 0.0f;
}

/// log(1 + x) for x in [0, 2]: of (1 + f) / scale with f in [-1/4, 1/2], by the series of artanh.
BELFRY_INLINE float log1p_of_sum(float x) {
  float scale = x > 0.5f ? 0.5f : 1.0f, k = 1 - scale;
  float f = x * scale - k;
  float s = f / (2 + f);
  float z = s * s;
  float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9))));
  return k * (2 * ln2_high) + (s * (2 + series) + k * (2 * ln2_low));
}

/// log(exp(a) + exp(b) + exp(c)), NaN if a is.
BELFRY_INLINE double log_sum_exp(double a, double b, double c) {
  double high = b > a ? b : a, low = b > a ? a : b;
  double highest = c > high ? c : high, other = c > high ? high : c;
  float rest = exp_of_difference(other, highest) + exp_of_difference(low, highest);
  return highest + log1p_of_sum(rest);
}

void forward(const double* before, const double* skip, const float* logits, double log_sum,
             double* alpha, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t s = 0; s < n; ++s)
    alpha[s] =
        log_sum_exp(before[s], before[s - 1], before[s - 2] + skip[s]) + (logits[s] - log_sum);
}

float backward(const double* after, const double* skip, const float* logits, double log_sum,
               const double* alpha, double total, double* beta, float* occupied, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t s = 0; s < n; ++s) {
    double rest = log_sum_exp(after[s], after[s + 1], after[s + 2] + skip[s + 2]);
    occupied[s] = static_cast<float>(alpha[s] + rest - total);
    beta[s] = rest + (logits[s] - log_sum);
  }
  alignas(64) float sums[lanes] = {};
  for (std::int64_t s = 0; s < n; s += lanes) {
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < lanes; ++l) {
      float x = occupied[s + l];
      float p = x < -87.0f ? 0.0f : normal_exp(x);
      occupied[s + l] = p;
      sums[l] += p;
    }
  }
  float blanks = 0;
  for (std::int64_t l = 0; l < lanes; l += 2) blanks += sums[l];
  return blanks;
}

void softmax(const float* x, double log_sum, float factor, float* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp(static_cast<float>(x[i] - log_sum)) * factor;
}

}  // namespace

const CtcLoops ctc_loops{.forward = forward, .backward = backward, .softmax = softmax};

}  // namespace belfry::cpu::BELFRY_ISA
