#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

constexpr std::int64_t block = 64;        // accumulators of a sum: enough to hide its latency
constexpr std::int64_t float_run = 1024;  // elements summed in float, 16 to an accumulator

/// Takes `n` values, a power of two, down to one, pairwise.
template <class T, class Combine>
BELFRY_INLINE T fold(T* values, std::int64_t n, const Combine& combine) {
  for (std::int64_t half = n / 2; half > 0; half /= 2) {
    BELFRY_VECTORIZE
    for (std::int64_t l = 0; l < half; ++l) values[l] = combine(values[l], values[l + half]);
  }
  return values[0];
}

/// Sums of N terms: total[k] = sum over i of term k; `terms(i, t)` writes t[0..N).
template <int N, class Terms>
BELFRY_INLINE void sum_row(std::int64_t n, double (&total)[N], const Terms& terms) {
  std::int64_t whole = n / block * block;
  alignas(64) double wide[N][lanes] = {};
  for (std::int64_t begin = 0; begin < whole; begin += float_run) {
    std::int64_t end = least(begin + float_run, whole);
    alignas(64) float sums[N][block] = {};
    for (std::int64_t i = begin; i < end; i += block) {
      BELFRY_VECTORIZE
      for (std::int64_t l = 0; l < block; ++l) {
        float t[N];
        terms(i + l, t);
        for (int k = 0; k < N; ++k) sums[k][l] += t[k];
      }
    }
    for (int k = 0; k < N; ++k) {
      BELFRY_VECTORIZE
      for (std::int64_t l = 0; l < lanes; ++l) {
        const float* s = sums[k] + l;
        wide[k][l] += static_cast<double>((s[0] + s[lanes]) + (s[2 * lanes] + s[3 * lanes]));
      }
    }
  }
  if (whole > 0)
    for (int k = 0; k < N; ++k)
      total[k] = fold(wide[k], lanes, [](double a, double b) { return a + b; });
  for (std::int64_t i = whole; i < n; ++i) {
    float t[N];
    terms(i, t);
    for (int k = 0; k < N; ++k) total[k] += static_cast<double>(t[k]);
  }
}

double sum(const float* x, std::int64_t n) {
  double total[1] = {};
  sum_row<1>(n, total, [=](std::int64_t i, float* t) { t[0] = x[i]; });
  return total[0];
}

double squares(const float* x, float mean, std::int64_t n) {
  double total[1] = {};
  sum_row<1>(n, total, [=](std::int64_t i, float* t) {
    float d = x[i] - mean;
    t[0] = d * d;
  });
  return total[0];
}

template <class Better>
BELFRY_INLINE float extremum(const float* x, std::int64_t n, float first, const Better& better) {
  std::int64_t whole = n / block * block;
  float winner = first;
  if (whole > 0) {
    alignas(64) float best[block];
    for (float& b : best) b = first;
    for (std::int64_t i = 0; i < whole; i += block) {
      BELFRY_VECTORIZE
      for (std::int64_t l = 0; l < block; ++l) best[l] = better(best[l], x[i + l]);
    }
    winner = fold(best, block, better);
  }
  for (std::int64_t i = whole; i < n; ++i) winner = better(winner, x[i]);
  return winner;
}

float max(const float* x, std::int64_t n) {
  return extremum(x, n, -infinity, [](float a, float b) { return a >= b || a != a ? a : b; });
}

float min(const float* x, std::int64_t n) {
  return extremum(x, n, infinity, [](float a, float b) { return a <= b || a != a ? a : b; });
}

/// y[i] = f(x[i]). The last elements are a vector under a mask where the machine has such.
template <class F>
BELFRY_INLINE void map_row(const float* x, float* y, std::int64_t n, const F& f) {
  std::int64_t whole = n / lanes * lanes, rest = n - whole;
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < whole; ++i) y[i] = f(x[i]);
  if (rest == 0) return;
  BELFRY_VECTORIZE
  for (std::int64_t l = 0; l < lanes; ++l)
    if (l < rest) y[whole + l] = f(x[whole + l]);
}

void scaled_exp(const float* x, float shift, float factor, float* y, std::int64_t n) {
  map_row(x, y, n, [=](float v) { return exp(v - shift) * factor; });
}

double exp_sum(const float* x, float shift, std::int64_t n) {
  constexpr std::int64_t tile = 512;
  alignas(64) float values[tile];
  double total = 0;
  for (std::int64_t i = 0; i < n; i += tile) {
    std::int64_t width = least(tile, n - i);
    map_row(x + i, values, width, [=](float v) { return exp(v - shift); });
    total += sum(values, width);
  }
  return total;
}

void cross_entropy_gradient(const float* x, float shift, float rest, float factor, float* y,
                            std::int64_t n) {
  map_row(x, y, n, [=](float v) { return (exp(v - shift) - rest) * factor; });
}

void subtract(const float* x, float shift, float rest, float* y, std::int64_t n) {
  map_row(x, y, n, [=](float v) { return (v - shift) - rest; });
}

void normalize(const float* x, float mean, float factor, const float* scale, const float* offset,
               float* y, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scale[i] + offset[i];
}

void normalize_sums(const float* dy, const float* x, const float* scale, float mean, std::int64_t n,
                    double* sum, double* product) {
  double total[2] = {};
  sum_row<2>(n, total, [=](std::int64_t i, float* t) {
    t[0] = dy[i] * scale[i];
    t[1] = t[0] * (x[i] - mean);
  });
  *sum = total[0];
  *product = total[1];
}

void normalize_gradient(const float* dy, const float* x, const float* scale, float mean,
                        float factor, float slope, float shift, float* dx, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = factor * (dy[i] * scale[i]) - slope * (x[i] - mean) - shift;
}

void normalize_parameters(const float* dy, const float* x, float mean, float factor, double* dscale,
                          double* doffset, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    dscale[i] += static_cast<double>(dy[i] * ((x[i] - mean) * factor));
    doffset[i] += static_cast<double>(dy[i]);
  }
}

}  // namespace

const RowLoops row_loops{.sum = sum,
                         .max = max,
                         .min = min,
                         .exp_sum = exp_sum,
                         .scaled_exp = scaled_exp,
                         .cross_entropy_gradient = cross_entropy_gradient,
                         .subtract = subtract,
                         .squares = squares,
                         .normalize = normalize,
                         .normalize_sums = normalize_sums,
                         .normalize_gradient = normalize_gradient,
                         .normalize_parameters = normalize_parameters};

}  // namespace belfry::cpu::BELFRY_ISA
