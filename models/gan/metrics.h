#pragma once
// How good generated data are, in numbers: metrics for evaluate(), of features or classes that a
// network of the user's choice finds in them; see models/frozen.h for one that Belfry has trained.
//
// They are computed in f64. What is not finite makes them so, and too few rows make them NaN: 0
// would not stand for nothing here, but for a perfect result.

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::gan {

/// Options of inception_score().
struct InceptionScoreOptions {
  bool probabilities = false;  ///< what is given are probabilities, of which each row has sum 1
};
/// exp(E[KL(p(y|x) || p(y))]) for a classifier's logits [n, classes] of generated data: from 1, all
/// rows alike or undecided, up to the number of classes, each row sure of its class and all classes
/// equally often (Salimans et al., "Improved techniques for training GANs", NeurIPS 2016, section
/// 4). p(y) is the mean over all rows of the evaluation. Error: another shape, no floating type.
Metric inception_score(Tensor logits, InceptionScoreOptions options = {});

/// The covariances that frechet_distance() compares besides the means.
enum class Covariance : std::uint8_t {
  full,      ///< of all pairs of features
  diagonal,  ///< the variance of each feature alone
  none,      ///< the means alone
};
/// Options of frechet_distance().
struct FrechetOptions {
  Covariance covariance = Covariance::full;  ///< compared besides the means
};
/// The Frechet distance of two normal distributions with the means m and covariances S of features
/// of real and of generated data, [n, d] each (n may differ): |m1 - m2|^2 + tr(S1 + S2 - 2 (S1
/// S2)^(1/2)) (Heusel et al., "GANs trained by a two time-scale update rule", NeurIPS 2017,
/// equation 6). Covariances are divided by n - 1, so there must be two rows of each, and one for
/// the means alone; they may be singular, as with fewer rows than features.
///
/// The state has 2 d^2 numbers, and the value of full covariances takes time with d^3, seconds for
/// 1000 features. Products are summed without taking the mean off first, so features
/// whose mean is 10^6 times their deviation lose 12 of 16 digits. Error: another shape, another d.
Metric frechet_distance(Tensor real, Tensor generated, FrechetOptions options = {});

/// The squared maximum mean discrepancy of features [n, d] of real and [m, d] of generated data
/// under the kernel (x . y / d + 1)^3, without bias: it is 0 on average, and often below, for data
/// from one distribution (Binkowski et al., "Demystifying MMD GANs", ICLR 2018, section 4). Each
/// tower's part of a batch is a block with a value of its own; the metric is their mean, weighted
/// by n. Blocks with fewer than two rows of either count nothing; larger blocks vary less. Error:
/// another shape, another d.
Metric kernel_distance(Tensor real, Tensor generated);

/// Options of sliced_wasserstein_distance().
struct SlicedWassersteinOptions {
  std::int64_t projections = 64;  ///< at least 1; time and memory of a step grow with it times n^2
};
/// The mean distance |a - b| between features [n, d] of real and of generated data that have the
/// same rank when all are projected onto a line, averaged over lines in random directions: the
/// sliced Wasserstein-1 distance (Karras et al., "Progressive growing of GANs", ICLR 2018, section
/// 5). Each tower's part of a batch has its own lines and its own distance; the metric is their
/// mean, weighted by n. Samples of one distribution have a distance above 0, which falls with n:
/// compare values of one batch size. The scope is for random numbers. Error: shapes that differ,
/// no projection.
Metric sliced_wasserstein_distance(const Scope& scope, Tensor real, Tensor generated,
                                   SlicedWassersteinOptions options = {});

}  // namespace belfry::gan
