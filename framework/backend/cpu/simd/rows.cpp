#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

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

template <class T>
double sum(const T* x, std::int64_t n) {
  double total[1] = {};
  sum_row<1>(n, total, [=](std::int64_t i, float* t) { t[0] = value(x, i); });
  return total[0];
}

template <class T>
double squares(const T* x, float mean, std::int64_t n) {
  double total[1] = {};
  sum_row<1>(n, total, [=](std::int64_t i, float* t) {
    float d = value(x, i) - mean;
    t[0] = d * d;
  });
  return total[0];
}

template <class T, class Better>
BELFRY_INLINE float extremum(const T* x, std::int64_t n, float first, const Better& better) {
  std::int64_t whole = n / block * block;
  float winner = first;
  if (whole > 0) {
    alignas(64) float best[block];
    for (float& b : best) b = first;
    for (std::int64_t i = 0; i < whole; i += block) {
      BELFRY_VECTORIZE
      for (std::int64_t l = 0; l < block; ++l) best[l] = better(best[l], value(x, i + l));
    }
    winner = fold(best, block, better);
  }
  for (std::int64_t i = whole; i < n; ++i) winner = better(winner, value(x, i));
  return winner;
}

template <class T>
float max(const T* x, std::int64_t n) {
  return extremum(x, n, -infinity, [](float a, float b) { return a >= b || a != a ? a : b; });
}

template <class T>
float min(const T* x, std::int64_t n) {
  return extremum(x, n, infinity, [](float a, float b) { return a <= b || a != a ? a : b; });
}

/// y[i] = f(x[i]). The last elements are a vector under a mask where the machine has such.
template <class T, class Y, class F>
BELFRY_INLINE void map_row(const T* x, Y* y, std::int64_t n, const F& f) {
  std::int64_t whole = n / lanes * lanes, rest = n - whole;
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < whole; ++i) store(y, i, f(value(x, i)));
  if (rest == 0) return;
  BELFRY_VECTORIZE
  for (std::int64_t l = 0; l < lanes; ++l)
    if (l < rest) store(y, whole + l, f(value(x, whole + l)));
}

template <class T>
void scaled_exp(const T* x, float shift, float factor, T* y, std::int64_t n) {
  map_row(x, y, n, [=](float v) { return exp(v - shift) * factor; });
}

template <class T>
double exp_sum(const T* x, float shift, std::int64_t n) {
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

template <class T>
void cross_entropy_gradient(const T* x, float shift, float rest, float factor, T* y,
                            std::int64_t n) {
  map_row(x, y, n, [=](float v) { return (exp(v - shift) - rest) * factor; });
}

template <class T>
void subtract(const T* x, float shift, float rest, T* y, std::int64_t n) {
  map_row(x, y, n, [=](float v) { return (v - shift) - rest; });
}

template <class T>
void normalize(const T* x, float mean, float factor, const float* scale, const float* offset, T* y,
               std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    store(y, i, (value(x, i) - mean) * factor * scale[i] + offset[i]);
}

template <class T>
void normalize_sums(const T* dy, const T* x, const float* scale, float mean, std::int64_t n,
                    double* sum, double* product) {
  double total[2] = {};
  sum_row<2>(n, total, [=](std::int64_t i, float* t) {
    t[0] = value(dy, i) * scale[i];
    t[1] = t[0] * (value(x, i) - mean);
  });
  *sum = total[0];
  *product = total[1];
}

template <class T>
void normalize_gradient(const T* dy, const T* x, const float* scale, float mean, float factor,
                        float slope, float shift, T* dx, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    store(dx, i, factor * (value(dy, i) * scale[i]) - slope * (value(x, i) - mean) - shift);
}

template <class T>
void normalize_parameters(const T* dy, const T* x, float mean, float factor, double* dscale,
                          double* doffset, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    dscale[i] += static_cast<double>(value(dy, i) * ((value(x, i) - mean) * factor));
    doffset[i] += static_cast<double>(value(dy, i));
  }
}

template <class T>
constexpr RowLoops<T> table{.sum = sum<T>,
                            .max = max<T>,
                            .min = min<T>,
                            .exp_sum = exp_sum<T>,
                            .scaled_exp = scaled_exp<T>,
                            .cross_entropy_gradient = cross_entropy_gradient<T>,
                            .subtract = subtract<T>,
                            .squares = squares<T>,
                            .normalize = normalize<T>,
                            .normalize_sums = normalize_sums<T>,
                            .normalize_gradient = normalize_gradient<T>,
                            .normalize_parameters = normalize_parameters<T>};

}  // namespace

const ForTypes<RowLoops> row_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
