#pragma once
// Layers that normalise. The last axis of x, of size c, holds channels. Their variables, each [c],
// are `scale` (ones at first), `offset` (zeros), and for batch_norm the statistics `moving_mean`
// (zeros) and `moving_variance` (ones); in f64 for x of f64, else in f32.

#include "belfry/framework/graph/scope.h"

namespace belfry {

struct BatchNormLayerOptions {
  bool training;           ///< normalise with this batch's statistics and update the moving ones
  double momentum = 0.99;  ///< share of the moving statistics that a step keeps
  double epsilon = 1e-3;   ///< added to the variance
  bool scale = true;   ///< false: no variable `scale`; a ReLU with a layer behind can do its work
  bool center = true;  ///< false: no variable `offset`
  bool sync = false;   ///< statistics of all towers' rows together, not of each tower's
};
/// Batch normalisation (Ioffe and Szegedy, ICML 2015), x [n, ..., c] -> as x:
/// (x - mean) / sqrt(variance + epsilon) * scale + offset.
///
/// In training, mean and (biased) variance are those of the batch, over all axes but the last, and
/// after the step's reads each moving statistic m becomes m + (1 - momentum) * (batch - m); no
/// gradient flows there. The variance enters m with Bessel's correction, count / (count - 1) (none
/// for a count of 1), as in TensorFlow's fused batch norm; an empty batch enters not at all. Over
/// several towers the moving statistics take the towers' mean, weighted by their rows: with `sync`,
/// at the price of two small reductions in each direction, the statistics of the whole batch. Calls
/// that share variables (see Network) enter one after the other, in the order of the calls.
/// Otherwise, mean and variance are the moving ones.
///
/// Error: momentum outside [0, 1], epsilon not positive, x with fewer than two axes.
Tensor batch_norm(const Scope& s, Tensor x, BatchNormLayerOptions options);

struct LayerNormLayerOptions {
  double epsilon = 1e-5;  ///< added to the variance
  bool scale = true;      ///< false: no variable `scale`
  bool center = true;     ///< false: no variable `offset`
};
/// Layer normalisation (Ba, Kiros and Hinton, 2016): each row over the last axis, x [..., c] -> as
/// x. Error: epsilon not positive.
Tensor layer_norm(const Scope& s, Tensor x, LayerNormLayerOptions options = {});

struct GroupNormLayerOptions {
  int groups = 32;        ///< of neighbouring channels; must divide c
  double epsilon = 1e-5;  ///< added to the variance
  bool scale = true;      ///< false: no variable `scale`
  bool center = true;     ///< false: no variable `offset`
};
/// Group normalisation (Wu and He, ECCV 2018): each example over space and each group of channels,
/// x [n, ..., c] -> as x. Error: epsilon not positive; groups below 1 or not a divisor of c.
Tensor group_norm(const Scope& s, Tensor x, GroupNormLayerOptions options = {});

}  // namespace belfry
