#include <type_traits>

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
    double n = rows;
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < width; ++j) {
      double deviation = sums[j] / n;
      double rest = products[j] - deviation * sums[j];
      products[j] = rest < 0 ? 0 : rest;  // rounding alone brings it below
      sums[j] = near[j] + deviation;
    }
  }
}

void merge(double* mean, double* squares, double a_rows, const double* b_mean,
           const double* b_squares, double b_rows, std::int64_t c) {
  double fraction = b_rows / (a_rows + b_rows);
  BELFRY_VECTORIZE
  for (std::int64_t j = 0; j < c; ++j) {
    double apart = b_mean[j] - mean[j];
    mean[j] += apart * fraction;
    squares[j] += b_squares[j] + apart * apart * (a_rows * fraction);
  }
}

/// The operand of ReLU where there is no residual. The gradient computes it again, to the bit.
template <class T>
BELFRY_INLINE float normalized(const T* x, std::int64_t i, float mean, float factor, float offset) {
  return (value(x, i) - mean) * factor + offset;
}

template <bool Residual, bool Relu, class T>
void normalize_rows(const T* x, const T* residual, const float* mean, const float* factor,
                    const float* offset, std::int64_t rows, std::int64_t c, T* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float result = normalized(x, j, mean[j], factor[j], offset[j]);
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

enum class Mask { none, given, computed };

template <Mask M, class T>
BELFRY_INLINE float masked(float g, const T* x, ReluMask<T> mask, const float* mean,
                           const float* factor, std::int64_t i, std::int64_t j) {
  if constexpr (M == Mask::given) return value(mask.y, i) > 0 ? g : 0;
  if constexpr (M == Mask::computed)
    return normalized(x, i, mean[j], factor[j], mask.offset[j]) > 0 ? g : 0;
  return g;
}

template <Mask M, class T>
void gradient_sums_rows(const T* dy, const T* x, ReluMask<T> mask, const float* mean,
                        const float* factor, std::int64_t rows, std::int64_t c, double* sums,
                        double* products) {
  sum_columns<2>(rows, c, {sums, products}, [=](std::int64_t r, std::int64_t j, float* t) {
    std::int64_t i = r * c + j;
    t[0] = masked<M>(value(dy, i), x, mask, mean, factor, i, j);
    t[1] = t[0] * (value(x, i) - mean[j]);
  });
}

template <Mask M, bool Residual, class T>
void gradient_rows(const T* dy, const T* x, ReluMask<T> mask, const float* mean,
                   const float* factor, const float* slope, const float* shift, std::int64_t rows,
                   std::int64_t c, T* dx, T* dresidual) {
  for (std::int64_t r = 0; r < rows; ++r) {
    BELFRY_VECTORIZE
    for (std::int64_t j = 0; j < c; ++j) {
      float g = masked<M>(value(dy, j), x, mask, mean, factor, j, j);
      if (Residual) store(dresidual, j, g);
      store(dx, j, factor[j] * g - slope[j] * (value(x, j) - mean[j]) - shift[j]);
    }
    dy += c;
    x += c;
    dx += c;
    if constexpr (M == Mask::given) mask.y += c;
    if (Residual) dresidual += c;
  }
}

/// Calls run(an integral constant of the mask's kind).
template <class T, class F>
void with_mask_kind(ReluMask<T> mask, const F& run) {
  if (mask.y) return run(std::integral_constant<Mask, Mask::given>());
  if (mask.offset) return run(std::integral_constant<Mask, Mask::computed>());
  run(std::integral_constant<Mask, Mask::none>());
}

template <class T>
void gradient_sums(const T* dy, const T* x, ReluMask<T> mask, const float* mean,
                   const float* factor, std::int64_t rows, std::int64_t c, double* sums,
                   double* products) {
  with_mask_kind(mask, [&](auto m) {
    gradient_sums_rows<m()>(dy, x, mask, mean, factor, rows, c, sums, products);
  });
}

template <class T>
void gradient(const T* dy, const T* x, ReluMask<T> mask, const float* mean, const float* factor,
              const float* slope, const float* shift, std::int64_t rows, std::int64_t c, T* dx,
              T* dresidual) {
  with_mask_kind(mask, [&](auto m) {
    auto* run = dresidual ? gradient_rows<m(), true, T> : gradient_rows<m(), false, T>;
    run(dy, x, mask, mean, factor, slope, shift, rows, c, dx, dresidual);
  });
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
