#pragma once
// Layers: functions that make variables under a scope and compute with them. All are compositions
// of ops. Losses are in losses/losses.h, metrics in metrics/metrics.h, recurrent layers in
// recurrent.h, the parts of transformers in transformers.h.

#include <cstdint>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

// ---- The fully connected layer, and the embedding.

/// Options of dense().
struct DenseOptions {
  std::int64_t units;                                 ///< size of the result's last axis; required
  bool use_bias = true;                               ///< add `bias` to the result
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [..., in] -> [..., units]: x times `kernel` [in, units] plus `bias` [units], variables under
/// `s` with the dtype of x. Error: units below 1, or x has fewer than two axes.
Tensor dense(const Scope& s, Tensor x, DenseOptions options);

/// Options of embedding().
struct EmbeddingOptions {
  std::int64_t rows;                               ///< number of ids; required
  std::int64_t width;                              ///< size of each vector; required
  Initializer initializer = uniform(-0.05, 0.05);  ///< first values of `table`
  DType dtype = DType::f32;                        ///< type of `table`
};
/// A learnt vector for each id: ids (i32 or i64, any shape) -> ids.shape + [width], rows of the
/// variable `table` [rows, width] under `s`. Error: rows or width below 1; when the step runs, an
/// id outside 0..rows-1.
Tensor embedding(const Scope& s, Tensor ids, EmbeddingOptions options);

// ---- Layers that convolve images, [n, h, w, c], signals, [n, w, c], and volumes, [n, d, h, w, c].
// Each makes its variables `kernel` and `bias` under the scope it is given; they have the dtype of
// x.

/// Options of the layer conv2d().
struct Conv2dLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  Size2 kernel;                    ///< window, in pixels; required
  Size2 stride = 1;                ///< distance between neighbouring windows
  Padding padding = same_padding;  ///< how windows meet the border of x
  bool use_bias = true;            ///< add `bias` to the result
  Size2 dilation = 1;              ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< channels of x and filters are divided into this many, apart
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, h, w, in] -> [n, oh, ow, filters]. kernel [kh, kw, in / groups, filters], bias [filters].
/// Error: filters, kernel or groups below 1; groups does not divide in and filters; as the op
/// conv2d.
Tensor conv2d(const Scope& s, Tensor x, Conv2dLayerOptions options);

/// Options of the layer conv2d_transpose().
struct Conv2dTransposeLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  Size2 kernel;                    ///< window, in pixels; required
  Size2 stride = 1;                ///< the factor by which the image grows
  Padding padding = same_padding;  ///< how windows meet the border of the result
  bool use_bias = true;            ///< add `bias` to the result
  Size2 dilation = 1;              ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dLayerOptions::groups
  /// Sizes of the result; 0 along an axis: the default, conv2d_transpose()'s of the ops. With same
  /// padding that is h * stride, and (h - 1) * stride + 1 to h * stride are permitted.
  Size2 output_size = 0;
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, h, w, in] -> [n, oh, ow, filters]. kernel [kh, kw, filters / groups, in] (initializers
/// take the last but one axis as fan-in, as in Keras), bias [filters]. Error: as conv2d.
Tensor conv2d_transpose(const Scope& s, Tensor x, Conv2dTransposeLayerOptions options);

/// Options of the layer depthwise_conv2d().
struct DepthwiseConv2dLayerOptions {
  Size2 kernel;                    ///< window, in pixels; required
  Size2 stride = 1;                ///< distance between neighbouring windows
  Padding padding = same_padding;  ///< how windows meet the border of x
  bool use_bias = true;            ///< add `bias` to the result
  std::int64_t multiplier = 1;     ///< results for each channel of x
  Size2 dilation = 1;              ///< distance between neighbouring taps of the kernel
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// Each channel convolved by itself: x [n, h, w, c] -> [n, oh, ow, c * multiplier]. kernel
/// [kh, kw, c, multiplier], bias [c * multiplier]. Error: kernel or multiplier below 1.
Tensor depthwise_conv2d(const Scope& s, Tensor x, DepthwiseConv2dLayerOptions options);

/// Options of the layer conv1d().
struct Conv1dLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  std::int64_t kernel;             ///< window, in samples; required
  std::int64_t stride = 1;         ///< distance between neighbouring windows
  Padding padding = same_padding;  ///< how windows meet the border of x
  bool use_bias = true;            ///< add `bias` to the result
  std::int64_t dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dLayerOptions::groups
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, w, in] -> [n, ow, filters]. kernel [kw, in / groups, filters], bias [filters].
/// Error: as the layer conv2d.
Tensor conv1d(const Scope& s, Tensor x, Conv1dLayerOptions options);

/// Options of the layer conv1d_transpose().
struct Conv1dTransposeLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  std::int64_t kernel;             ///< window, in samples; required
  std::int64_t stride = 1;         ///< the factor by which the signal grows
  Padding padding = same_padding;  ///< how windows meet the border of the result
  bool use_bias = true;            ///< add `bias` to the result
  std::int64_t dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dLayerOptions::groups
  std::int64_t output_size = 0;    ///< as Conv2dTransposeLayerOptions::output_size
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, w, in] -> [n, ow, filters]. kernel [kw, filters / groups, in], bias [filters]. As
/// the layer conv2d_transpose.
Tensor conv1d_transpose(const Scope& s, Tensor x, Conv1dTransposeLayerOptions options);

/// Options of the layer conv3d().
struct Conv3dLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  Size3 kernel;                    ///< window, in voxels; required
  Size3 stride = 1;                ///< distance between neighbouring windows
  Padding padding = same_padding;  ///< how windows meet the border of x
  bool use_bias = true;            ///< add `bias` to the result
  Size3 dilation = 1;              ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dLayerOptions::groups
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, d, h, w, in] -> [n, od, oh, ow, filters]. kernel [kd, kh, kw, in / groups, filters], bias
/// [filters]. Error: as the layer conv2d.
Tensor conv3d(const Scope& s, Tensor x, Conv3dLayerOptions options);

/// Options of the layer conv3d_transpose().
struct Conv3dTransposeLayerOptions {
  std::int64_t filters;            ///< channels of the result; required
  Size3 kernel;                    ///< window, in voxels; required
  Size3 stride = 1;                ///< the factor by which the volume grows
  Padding padding = same_padding;  ///< how windows meet the border of the result
  bool use_bias = true;            ///< add `bias` to the result
  Size3 dilation = 1;              ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dLayerOptions::groups
  Size3 output_size = 0;           ///< as Conv2dTransposeLayerOptions::output_size
  Initializer kernel_initializer = glorot_uniform();  ///< first values of `kernel`
  Initializer bias_initializer = zeros();             ///< first values of `bias`
};
/// x [n, d, h, w, in] -> [n, od, oh, ow, filters]. kernel [kd, kh, kw, filters / groups, in], bias
/// [filters]. As the layer conv2d_transpose.
Tensor conv3d_transpose(const Scope& s, Tensor x, Conv3dTransposeLayerOptions options);

// ---- Layers that normalise. The last axis of x, of size c, holds channels. Their variables, each
// [c], are `scale` (ones at first), `offset` (zeros), and for batch_norm the statistics
// `moving_mean` (zeros) and `moving_variance` (ones); in f64 for x of f64, else in f32.

/// Options of the layer batch_norm().
struct BatchNormLayerOptions {
  bool training;           ///< normalise with this batch's statistics and update the moving ones
  double momentum = 0.99;  ///< fraction of the moving statistics that a step keeps
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

/// Options of the layer layer_norm().
struct LayerNormLayerOptions {
  double epsilon = 1e-5;  ///< added to the variance
  bool scale = true;      ///< false: no variable `scale`
  bool center = true;     ///< false: no variable `offset`
};
/// Layer normalisation (Ba, Kiros and Hinton, 2016): each row over the last axis, x [..., c] -> as
/// x. Error: epsilon not positive.
Tensor layer_norm(const Scope& s, Tensor x, LayerNormLayerOptions options = {});

/// Options of the layer group_norm().
struct GroupNormLayerOptions {
  int groups = 32;        ///< of neighbouring channels; must divide c
  double epsilon = 1e-5;  ///< added to the variance
  bool scale = true;      ///< false: no variable `scale`
  bool center = true;     ///< false: no variable `offset`
};
/// Group normalisation (Wu and He, ECCV 2018): each example over space and each group of channels,
/// x [n, ..., c] -> as x. Error: epsilon not positive; groups below 1 or not a divisor of c.
Tensor group_norm(const Scope& s, Tensor x, GroupNormLayerOptions options = {});

// ---- Attention: each query takes a weighted mean of values, with the weights that its products
// with the keys give (Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.2).

/// Options of attention().
struct AttentionOptions {
  /// Bool, broadcasts to the scores [..., tq, tk]: a query looks only where it is true. One that
  /// may look nowhere takes the plain mean of all values. None: all look everywhere.
  Tensor mask = {};
  /// Floating, broadcasts to the scores and is added to them, scaled as they are: relative
  /// positions, for example. Gradients flow into it.
  Tensor bias = {};
  float dropout = 0;      ///< fraction of the weights that a training step leaves out, in [0, 1)
  bool training = false;  ///< whether there is dropout
};
/// softmax(q k^T / sqrt(d) + bias) v: q [..., tq, d], k [..., tk, d], v [..., tk, e], leading axes
/// broadcast -> [..., tq, e]. The step holds the weights, [..., tq, tk]. Axis 0 is the batch's rows
/// for the random numbers of dropout, whose stream is named by `s`.
/// Error: shapes and types that are not as above, with the scope; dropout outside [0, 1).
Tensor attention(const Scope& s, Tensor q, Tensor k, Tensor v, AttentionOptions options = {});

/// Options of multi_head_attention().
struct MultiHeadAttentionOptions {
  std::int64_t heads;     ///< required; must divide the width of the queries
  bool use_bias = true;   ///< of the four dense layers
  Tensor mask = {};       ///< as AttentionOptions::mask, broadcasts to [..., heads, tq, tk]
  Tensor bias = {};       ///< as AttentionOptions::bias, broadcasts to [..., heads, tq, tk]
  float dropout = 0;      ///< of the weights, in [0, 1)
  bool training = false;  ///< whether there is dropout
  Initializer kernel_initializer = glorot_uniform();  ///< as DenseOptions, for all four layers
  Initializer bias_initializer = zeros();             ///< as DenseOptions, for all four layers
};
/// Attention in `heads` subspaces at once: q [..., tq, c], k [..., tk, ck], v [..., tk, cv], of the
/// same leading axes, of which there is at least one -> [..., tq, c]. Dense layers `query`, `key`,
/// and `value` under `s` make c channels of each, of which head i has the i-th of `heads` equal
/// parts; after attention() the parts are joined again for the dense layer `output`. With one width
/// throughout these are the 4 (c^2 + c) parameters of PyTorch's MultiheadAttention.
///
/// For self-attention q, k and v are the same tensor. padding_mask() gives the mask for rows of
/// different lengths. A mask or bias with fewer axes than the scores broadcasts over the leading
/// ones: a bias [heads, t, t] is shared by all rows, and one for windows [w, 1, t, t] goes with
/// q [n, w, t, c].
///
/// Error: heads below 1 or no divisor of c; as dense() and attention().
Tensor multi_head_attention(const Scope& s, Tensor q, Tensor k, Tensor v,
                            MultiHeadAttentionOptions options);

/// A mask for keys of which only the first lengths[i] of row i count: lengths [n] (i32 or i64) ->
/// bool [n, 1, 1, keys], for scores [n, heads, tq, keys].
Tensor padding_mask(Tensor lengths, std::int64_t keys);

}  // namespace belfry
