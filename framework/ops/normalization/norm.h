#pragma once
// The common parts of the normalisations.

#include <type_traits>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {

/// The C++ type of statistics_type(dtype of T).
template <class T>
using statistics_of = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Elements start, start + stride, ...
struct Series {
  std::int64_t start;
  std::int64_t stride;
  std::int64_t size;
  std::int64_t at(std::int64_t i) const { return start + i * stride; }
};

struct Moments {
  double mean = 0;
  double variance = 0;  ///< biased
};

/// In two passes, for exactness; zeros of no elements.
template <class T>
Moments moments(const T* x, const Series& s) {
  if (s.size == 0) return {};
  double count = s.size, sum = 0, squares = 0;
  for (std::int64_t i = 0; i < s.size; ++i) sum += load(x[s.at(i)]);
  double mean = sum / count;
  for (std::int64_t i = 0; i < s.size; ++i) {
    double d = load(x[s.at(i)]) - mean;
    squares += d * d;
  }
  return {mean, squares / count};
}

/// Checks x [..., c], scale [c], offset [c] and epsilon >= 0; gives the type of the parameters.
TensorType check_norm(std::string_view op, const TensorType& x, const TensorType& scale,
                      const TensorType& offset, double epsilon);

/// The type of a statistic of each row of x: [...] for x [..., c].
TensorType row_type(const TensorType& x);

/// Gradients of statistics; undefined ones do not count.
struct StatisticsGradients {
  Tensor mean = {};
  Tensor variance = {};
  Tensor inv_std = {};
};
/// The gradient that flows to x through its statistics, undefined when none does. Mean, inverse
/// standard deviation and their gradients have shapes that broadcast to x.
Tensor statistics_gradient(Tensor x, Tensor mean, Tensor inv_std, const StatisticsGradients& dy);

/// The type of BatchNormOptions::mask for x.
TensorType relu_mask_type(std::string_view op, const TensorType& x);

/// The results of a channel's elements, by their places in x, not rounded to T.
template <class T, class S>
struct BatchNormColumn {
  const T *x, *residual;  ///< the latter null where there is none
  S mean, inv_std, scale, offset;
  Activation activation;

  double operator()(std::int64_t at) const {
    double value = (load(x[at]) - double{mean}) * double{inv_std} * double{scale} + double{offset};
    if (residual) value += load(residual[at]);
    if (activation == Activation::relu) value = functor::Relu::apply<StdMath>(value);
    return value;
  }
};

}  // namespace belfry
