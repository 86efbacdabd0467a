#pragma once
// Virtual batch normalisation (Salimans et al., "Improved techniques for training GANs", NeurIPS
// 2016, section 3.4).

#include <functional>

#include "belfry/framework/framework.h"

namespace belfry::gan {

/// Options of virtual_batch_norm().
struct VirtualBatchNormOptions {
  std::int64_t reference_rows;  ///< the first rows of x are the reference batch; required
  double epsilon = 1e-3;        ///< added to the variance
  bool scale = true;            ///< false: no variable `scale`
  bool center = true;           ///< false: no variable `offset`
};
/// Batch norm by the statistics of a batch that never changes, so that what comes of an example
/// does not depend on the others of its batch, nor on their number or the towers. x [r + n, ..., c]
/// -> as x. Its first r rows are the reference batch and are normalised as by batch_norm() in
/// training, by their own mean and variance. Each row behind them is normalised by the statistics
/// of r + 1 rows, the reference and itself, in which its own weigh 1 / (r + 1) (as TF-GAN's VBN;
/// their paper does not say how the two are joined):
///
///   mean = w own + (1 - w) reference, w = 1 / (r + 1); likewise the mean of squares
///
/// There are no moving statistics, and all modes compute the same: the reference batch goes through
/// the network each time, see with_reference_batch(). Variables: `scale` and `offset`, each [c].
///
/// Error: x has fewer than two axes or fewer rows than the reference; the reference has none;
/// epsilon is not above 0.
Tensor virtual_batch_norm(const Scope& s, Tensor x, const VirtualBatchNormOptions& options);

/// `network` of a batch whose first rows are `reference`, those of x behind them; of its result
/// those of x alone. The reference is a batch of examples, of the same shape as x but for the rows,
/// that is chosen once and stays (in a discriminator: real data; in a generator: noise drawn
/// beforehand). It is a constant of the graph, so checkpoints do not have it: a program that goes
/// on with a checkpoint gives the same again.
///
///   with_reference_batch(faces, x, [&](Tensor both) {
///     both = conv2d(s / "conv", both, {.filters = 64, .kernel = 4, .stride = 2});
///     return relu(virtual_batch_norm(s / "norm", both, {.reference_rows = 64}));
///   });
///
/// Error: reference and x differ in type, or there is no network.
Tensor with_reference_batch(const Array& reference, Tensor x,
                            const std::function<Tensor(Tensor)>& network);

}  // namespace belfry::gan
