#include "belfry/framework/backend/cpu/simd/columns.h"
#include "belfry/framework/backend/cpu/simd/element.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// Sums of deviations from a number near the mean (that of the first rows) lose no digits to a mean
/// that is large beside the deviations.
template <class T>
void moments(const T* x, std::int64_t rows, std::int64_t c, double* mean, double* squares) {
  constexpr std::int64_t most = 1024;
  alignas(64) float near[most];
  std::int64_t sample = least<std::int64_t>(rows, 8);
  for (std::int64_t first = 0; first < c; first += most) {
    std::int64_t width = least(most, c - first);
    for (std::int64_t j = 0; j < width; ++j) near[j] = 0;
    for (std::int64_t r = 0; r < sample; ++r) {
      BELFRY_VECTORIZE
      for (std::int64_t j = 0; j < width; ++j)
        near[j] += value(x, r * c + first + j) / static_cast<float>(sample);
    }
    const T* part = x + first;
    double *sums = mean + first, *products = squares + first;
    sum_columns<2>(rows, width, {sums, products}, [&](std::int64_t r, std::int64_t j, float* t) {
      t[0] = value(part, r * c + j) - near[j];
      t[1] = t[0] * t[0];
    });
    auto n = static_cast<double>(rows);
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) {
      double deviation = sums[j] / n;
      double rest = products[j] - deviation * sums[j];
      products[j] = rest < 0 ? 0 : rest;  // rounding alone brings it below
      sums[j] = static_cast<double>(near[j]) + deviation;
    }
  }
}

void merge(double* mean, double* squares, double a_rows, const double* b_mean,
           const double* b_squares, double b_rows, std::int64_t c) {
  double share = b_rows / (a_rows + b_rows);
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < c; ++j) {
    double apart = b_mean[j] - mean[j];
    mean[j] += apart * share;
    squares[j] += b_squares[j] + apart * apart * (a_rows * share);
  }
}

template <bool Residual, bool Relu, class T>
void normalize_rows(const T* x, const T* residual, const float* mean, const float* factor,
                    const float* offset, std::int64_t rows, std::int64_t c, T* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float result = (value(x, j) - mean[j]) * factor[j] + offset[j];
      if (Residual) result += value(residual, j);
      store(y, j, Relu && result < 0 ? 0 : result);
    }
    x += c;
    y += c;
    if (Residual) residual += c;
  }
}

template <class T>
void normalize(const T* x, const T* residual, const float* mean, const float* factor,
               const float* offset, bool relu, std::int64_t rows, std::int64_t c, T* y) {
  auto* run = residual ? (relu ? normalize_rows<true, true, T> : normalize_rows<true, false, T>)
                       : (relu ? normalize_rows<false, true, T> : normalize_rows<false, false, T>);
  run(x, residual, mean, factor, offset, rows, c, y);
}

template <bool Relu, class T>
BELFRY_INLINE float masked(const T* dy, const T* y, std::int64_t i) {
  float g = value(dy, i);
  if constexpr (Relu) g = value(y, i) > 0 ? g : 0;
  return g;
}

template <bool Relu, class T>
void gradient_sums_rows(const T* dy, const T* x, const T* y, const float* mean, std::int64_t rows,
                        std::int64_t c, double* sums, double* products) {
  sum_columns<2>(rows, c, {sums, products}, [=](std::int64_t r, std::int64_t j, float* t) {
    t[0] = masked<Relu>(dy, y, r * c + j);
    t[1] = t[0] * (value(x, r * c + j) - mean[j]);
  });
}

template <class T>
void gradient_sums(const T* dy, const T* x, const T* y, const float* mean, std::int64_t rows,
                   std::int64_t c, double* sums, double* products) {
  auto* run = y ? gradient_sums_rows<true, T> : gradient_sums_rows<false, T>;
  run(dy, x, y, mean, rows, c, sums, products);
}

template <bool Relu, bool Residual, class T>
void gradient_rows(const T* dy, const T* x, const T* y, const float* mean, const float* factor,
                   const float* slope, const float* shift, std::int64_t rows, std::int64_t c, T* dx,
                   T* dresidual) {
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float g = masked<Relu>(dy, y, j);
      if (Residual) store(dresidual, j, g);
      store(dx, j, factor[j] * g - slope[j] * (value(x, j) - mean[j]) - shift[j]);
    }
    dy += c;
    x += c;
    dx += c;
    if (Relu) y += c;
    if (Residual) dresidual += c;
  }
}

template <class T>
void gradient(const T* dy, const T* x, const T* y, const float* mean, const float* factor,
              const float* slope, const float* shift, std::int64_t rows, std::int64_t c, T* dx,
              T* dresidual) {
  auto* run = y ? (dresidual ? gradient_rows<true, true, T> : gradient_rows<true, false, T>)
                : (dresidual ? gradient_rows<false, true, T> : gradient_rows<false, false, T>);
  run(dy, x, y, mean, factor, slope, shift, rows, c, dx, dresidual);
}

template <class T>
constexpr BatchNormLoops<T> table{.moments = moments<T>,
                                  .merge = merge,
                                  .normalize = normalize<T>,
                                  .gradient_sums = gradient_sums<T>,
                                  .gradient = gradient<T>};

}  // namespace

const ForTypes<BatchNormLoops> batch_norm_loops{table<float>, table<BFloat16>, table<Float16>};

}  // namespace belfry::cpu::BELFRY_ISA
