#pragma once
// The common parts of the two ops that normalise a batch. Internal to ops/.

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {

/// The result of a channel's elements, by their places in x, in double.
template <class T, class S>
struct BatchNormColumn {
  const T *x, *residual;  ///< the latter null where there is none
  S mean, inv_std, scale, offset;
  Activation activation;

  T operator()(std::int64_t at) const {
    double value = (load(x[at]) - double{mean}) * double{inv_std} * double{scale} + double{offset};
    if (residual) value += load(residual[at]);
    if (activation == Activation::relu) value = functor::Relu::apply<StdMath>(value);
    return store<T>(value);
  }
};

}  // namespace belfry
