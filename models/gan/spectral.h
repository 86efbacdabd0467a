#pragma once
// Spectral normalisation: layers that lengthen no vector by more than a factor of 1 (Miyato et al.,
// "Spectral normalization for generative adversarial networks", ICLR 2018).

#include "belfry/framework/framework.h"

namespace belfry::gan {

/// Options of spectral_norm().
struct SpectralNormOptions {
  bool training;           ///< keep what the iteration has found; required
  int iterations = 1;      ///< of the power method in a step, at least 1
  double epsilon = 1e-12;  ///< the least square of a length to divide by
};

/// kernel / sigma, where sigma is the largest singular value of the kernel as a matrix W [rows,
/// out]: its last axis against all others (their section 2 and algorithm 1, where W is the
/// transpose). The power method finds it: with u [out], a statistic under `s` that begins as normal
/// numbers,
///
///   v = W u / |W u|;  u' = W^T v / |W^T v|;  sigma = v^T W u'
///
/// In training u becomes u' after the step's reads, once a step however often the kernel is used
/// (see Network), and with several sub-steps in those of the network that the scope lies in.
/// Otherwise the same is computed, but u stays. u and v are constants for the gradient, so that of
/// sigma is v u'^T. Computed in f32, or f64 for such a kernel, whatever the precision of the rest.
/// A sigma below the root of epsilon, as that of a kernel of zeros, counts as that root, and u
/// stays.
///
/// Error: fewer than two axes; iterations below 1; epsilon not above 0.
Tensor spectral_norm(const Scope& s, Tensor kernel, const SpectralNormOptions& options);

/// The layers conv2d and dense with their `kernel` divided by its sigma; `bias` is as it is. The
/// variables have the names and shapes that they have without, beside them is `u` [filters] or
/// [units].
///@{
Tensor spectral_conv2d(const Scope& s, Tensor x, Conv2dLayerOptions layer,
                       const SpectralNormOptions& options);
Tensor spectral_dense(const Scope& s, Tensor x, DenseOptions layer,
                      const SpectralNormOptions& options);
///@}

}  // namespace belfry::gan
