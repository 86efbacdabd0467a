#pragma once
// The common parts of the normalisations. Internal to backend/cuda/kernels.

#include <cmath>

#include "belfry/framework/backend/cuda/kernels/reduction/block_reduce.h"

namespace belfry::cuda {

/// The moments of `count` values; trivial, so that it can lie in shared memory.
template <class C>
struct Moments {
  C count, mean;
  C squares;  ///< sum of squared distances from the mean

  __device__ C variance() const { return count > C(0) ? squares / count : C(0); }  ///< biased
};

/// Moments one value at a time (Welford, "Note on a method for calculating corrected sums of
/// squares and products", 1962) and of two parts (Chan, Golub, LeVeque, "Updating formulae and a
/// pairwise algorithm for computing sample variances", 1979, eq. 2.1).
struct MomentsFold {
  template <class A>
  static __device__ A first() {
    return {0, 0, 0};
  }
  /// Columns side by side have the same count, and share its reciprocal.
  template <class C, int V>
  static __device__ void take_row(Moments<C> (&folds)[V], const C (&items)[V]) {
    C count = folds[0].count + C(1), fraction = C(1) / count;
    for (int k = 0; k < V; ++k) {
      C distance = items[k] - folds[k].mean, mean = folds[k].mean + distance * fraction;
      folds[k] = {count, mean, folds[k].squares + distance * (items[k] - mean)};
    }
  }
  template <class C>
  static __device__ void take_row(Moments<C> (&folds)[1], const Moments<C> (&items)[1]) {
    folds[0] = add(folds[0], items[0]);
  }
  template <class C>
  static __device__ Moments<C> add(Moments<C> a, Moments<C> b) {
    if (a.count == C(0)) return b;
    C count = a.count + b.count, fraction = b.count / count, distance = b.mean - a.mean;
    return {count, a.mean + distance * fraction,
            a.squares + b.squares + distance * distance * a.count * fraction};
  }
};

/// A normalised value before residual and activation. The gradient computes it again, to the bit.
template <class C>
__device__ C normalized(C x, C mean, C factor, C offset) {
  return (x - mean) * factor + offset;
}

/// In double: epsilon may be less than a float can hold.
template <class C>
__device__ C inverse_deviation(C variance, double epsilon) {
  return static_cast<C>(1 / std::sqrt(static_cast<double>(variance) + epsilon));
}

}  // namespace belfry::cuda
