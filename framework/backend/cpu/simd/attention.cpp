#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// e^x for x <= 88, 0 below the least normal number.
BELFRY_INLINE float weight_of(float x) { return x < -87.0f ? 0.0f : normal_exp(x); }

float weights(float* x, std::int64_t n, float* highest, float* sum) {
  alignas(64) float most[lanes], sums[lanes] = {};
  for (std::int64_t l = 0; l < lanes; ++l) most[l] = *highest;
  for (std::int64_t i = 0; i < n; i += lanes) {
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < lanes; ++l)
      most[l] = most[l] >= x[i + l] || most[l] != most[l] ? most[l] : x[i + l];  // NaN wins
  }
  float high = most[0];
  for (std::int64_t l = 1; l < lanes; ++l) high = high >= most[l] || high != high ? high : most[l];
  bool none = high == -infinity;  // of any tile so far
  float shift = none ? 0 : high;
  for (std::int64_t i = 0; i < n; i += lanes) {
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < lanes; ++l) {
      float weight = weight_of(x[i + l] - shift);
      x[i + l] = weight;
      sums[l] += weight;
    }
  }
  float correction = none ? 1 : exp(*highest - high), total = 0;
  for (std::int64_t l = 0; l < lanes; ++l) total += sums[l];
  *sum = *sum * correction + total;
  *highest = high;
  return correction;
}

void scale_and_add(float* y, const float* x, float factor, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] * factor + x[i];
}

void slopes(const float* x, float log_sum, const float* products, float shift, const float* kept,
            std::int64_t n, std::int64_t panel_stride, float* weight_panels, float* slope_panels,
            float* slope_row) {
  for (std::int64_t i = 0; i < n; i += lanes) {
    float *to_weights = weight_panels + i / lanes * panel_stride,
          *to_slopes = slope_panels + i / lanes * panel_stride;
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < lanes; ++l) {
      float weight = weight_of(x[i + l] - log_sum), factor = kept[i + l];
      float slope = weight * (factor * products[i + l] - shift);
      to_weights[l] = weight * factor;
      to_slopes[l] = slope;
      slope_row[i + l] = slope;
    }
  }
}

}  // namespace

const AttentionLoops attention_loops{
    .weights = weights, .scale_and_add = scale_and_add, .slopes = slopes};

}  // namespace belfry::cpu::BELFRY_ISA
