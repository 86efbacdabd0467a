#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"
#include "belfry/framework/backend/cpu/simd/winograd.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// e^x for x <= 88, 0 below the least normal number.
BELFRY_INLINE float weight_of(float x) { return x < -87.0f ? 0.0f : normal_exp(x); }

// Joins N numbers, pair by pair; overwrites them.
template <int N, class Join>
BELFRY_INLINE float joined(float* x, Join join) {
  if constexpr (N == 1) {
    return x[0];
  } else {
    for (int l = 0; l < N / 2; ++l) x[l] = join(x[l], x[l + N / 2]);
    return joined<N / 2>(x, join);
  }
}

// A NaN among the scores is no highest one, but the sum of weights shows it.
BELFRY_INLINE float highest_of(const float* x, std::int64_t n, float before) {
  Vec most = Vec{} + before;
  for (std::int64_t i = 0; i < n; i += width) {
    Vec next = load(x + i);
    most = next > most ? next : most;
  }
  alignas(64) float all[width];
  store(all, most);
  return joined<width>(all, [](float a, float b) { return a > b ? a : b; });
}

/// Returns their sum.
BELFRY_INLINE float row_of_weights(float* x, std::int64_t n, float shift) {
  alignas(64) float sums[lanes] = {};
  for (std::int64_t i = 0; i < n; i += lanes) {
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < lanes; ++l) {
      float weight = weight_of(x[i + l] - shift);
      x[i + l] = weight;
      sums[l] += weight;
    }
  }
  return joined<lanes>(sums, [](float a, float b) { return a + b; });
}

void weights(float* x, std::int64_t rows, std::int64_t n, float* highest, float* sums,
             float* corrections) {
  for (std::int64_t first = 0; first < rows; first += lanes) {
    std::int64_t count = least(lanes, rows - first);
    alignas(64) float rises[lanes] = {}, added[lanes] = {}, before[lanes] = {};
    for (std::int64_t r = 0; r < count; ++r) {
      float* row = x + (first + r) * n;
      float was = highest[first + r], high = highest_of(row, n, was);
      before[r] = sums[first + r];
      added[r] = row_of_weights(row, n, high == -infinity ? 0 : high);  // none counts so far
      rises[r] = was == high ? 0 : was - high;
      highest[first + r] = high;
    }
    BELFRY_VECTORIZE
    for (std::int64_t r = 0; r < lanes; ++r) {
      rises[r] = exp(rises[r]);
      before[r] = before[r] * rises[r] + added[r];
    }
    for (std::int64_t r = 0; r < count; ++r) {
      corrections[first + r] = rises[r];
      sums[first + r] = before[r];
    }
  }
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
