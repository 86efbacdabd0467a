#pragma once
// Ops of neural networks. Images are channels-last, [n, h, w, c]; kernels are [kh, kw, in, out].

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct MatmulOptions {
  bool transpose_a = false;  ///< a is [..., k, m]
  bool transpose_b = false;  ///< b is [..., n, k]
  static void fields(auto& o, auto&& field) {
    field("transpose_a", o.transpose_a);
    field("transpose_b", o.transpose_b);
  }
};
/// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast.
Tensor matmul(Tensor a, Tensor b, MatmulOptions options = {});

/// How a window meets the border.
struct Padding {
  enum class Kind : std::uint8_t { same, valid, given };
  Kind kind =
      Kind::same;  ///< same: output = ceil(input / stride), the odd row after, as in TensorFlow
  std::array<std::int64_t, 4> amounts = {};  ///< given: top, bottom, left, right
  static Padding explicit_amounts(std::int64_t top, std::int64_t bottom, std::int64_t left,
                                  std::int64_t right) {
    return {Kind::given, {top, bottom, left, right}};
  }
};
inline constexpr Padding same_padding{Padding::Kind::same, {}};
inline constexpr Padding valid_padding{Padding::Kind::valid, {}};
std::string to_string(const Padding& padding);  ///< "same", "valid", "[1, 1, 2, 2]"

/// Activation that a kernel applies to its result.
enum class Activation : std::uint8_t { none, relu };
std::string to_string(Activation activation);

struct Conv2dOptions {
  std::array<std::int64_t, 2> stride = {1, 1};    ///< rows, columns
  std::array<std::int64_t, 2> dilation = {1, 1};  ///< rows, columns
  std::int64_t groups = 1;  ///< kernel is [kh, kw, in / groups, out]; groups = in is depthwise
  Padding padding = same_padding;
  static void fields(auto& o, auto&& field) {
    field("stride", o.stride);
    field("dilation", o.dilation);
    field("groups", o.groups);
    field("padding", o.padding);
  }
};
/// x [n, h, w, in], kernel [kh, kw, in / groups, out] -> [n, oh, ow, out].
Tensor conv2d(Tensor x, Tensor kernel, Conv2dOptions options = {});
/// The gradient of conv2d with respect to its input, as an op of its own ("deconvolution"): x
/// [n, h, w, in], kernel [kh, kw, out / groups, in] -> [n, oh, ow, out]. `output_size` {oh, ow}, or
/// {0, 0} for the smallest that fits: same: h * stride; valid: (h - 1) * stride + dilated kernel.
Tensor conv2d_transpose(Tensor x, Tensor kernel, Conv2dOptions options = {},
                        std::array<std::int64_t, 2> output_size = {0, 0});
/// x [n, h, w, c], kernel [kh, kw, c, multiplier] -> [n, oh, ow, c * multiplier]; options.groups is
/// ignored.
Tensor depthwise_conv2d(Tensor x, Tensor kernel, Conv2dOptions options = {});

struct Pool2dOptions {
  std::array<std::int64_t, 2> window = {2, 2};
  std::array<std::int64_t, 2> stride = {2, 2};
  Padding padding = valid_padding;
  static void fields(auto& o, auto&& field) {
    field("window", o.window);
    field("stride", o.stride);
    field("padding", o.padding);
  }
};
/// [n, h, w, c] -> [n, oh, ow, c]. Padding never wins; NaN does. Gradient goes to the first
/// maximum.
Tensor max_pool(Tensor x, Pool2dOptions options = {});
/// Averages over the elements inside the image alone (as TensorFlow).
Tensor avg_pool(Tensor x, Pool2dOptions options = {});
Tensor global_avg_pool(Tensor x);  ///< [n, h, w, c] -> [n, c]
Tensor global_max_pool(Tensor x);  ///< [n, h, w, c] -> [n, c]

/// What batch_norm_train gives.
struct BatchNormResult {
  Tensor y;         ///< as x
  Tensor mean;      ///< [c] of this batch, in f32 at least
  Tensor variance;  ///< [c] of this batch, biased (divided by the count)
};
/// Normalises over all axes but the last with the batch's own statistics (Ioffe and Szegedy, ICML
/// 2015, algorithm 1): (x - mean) / sqrt(variance + epsilon) * scale + offset. scale, offset: [c],
/// here and below in f32, or f64 when x is f64. An empty batch has mean and variance 0.
BatchNormResult batch_norm_train(Tensor x, Tensor scale, Tensor offset, double epsilon = 1e-3);
/// As above with given statistics.
Tensor batch_norm_inference(Tensor x, Tensor scale, Tensor offset, Tensor mean, Tensor variance,
                            double epsilon = 1e-3);
/// Normalises each row over the last axis (Ba, Kiros, Hinton 2016). scale, offset: [c].
Tensor layer_norm(Tensor x, Tensor scale, Tensor offset, double epsilon = 1e-5);
/// Normalises each example over space and each of `groups` groups of channels (Wu and He, ECCV
/// 2018).
Tensor group_norm(Tensor x, Tensor scale, Tensor offset, int groups, double epsilon = 1e-5);

Tensor softmax(Tensor logits, int axis = -1);
Tensor log_softmax(Tensor logits, int axis = -1);
/// -log softmax(logits)[label], with the row's smoothing: logits [n, k], labels [n] i32 or i64 ->
/// [n] in f32, or f64 when the logits are. The target is (1 - smoothing) one_hot + smoothing / k. A
/// label outside 0..k-1 is an error when the step runs: `sparse_softmax_cross_entropy: label 10 at
/// row 3 is outside 0..9`.
Tensor sparse_softmax_cross_entropy_op(Tensor logits, Tensor labels, double label_smoothing = 0);

/// table [rows, width], ids (i32 or i64, any shape) -> ids.shape + [width]. An id outside 0..rows-1
/// is an error when the step runs.
Tensor embedding_lookup(Tensor table, Tensor ids);

struct ResizeOptions {
  std::array<std::int64_t, 2> size = {0, 0};  ///< rows, columns of the output
  bool align_corners = false;                 ///< corner centres coincide; else half-pixel centres
  static void fields(auto& o, auto&& field) {
    field("size", o.size);
    field("align_corners", o.align_corners);
  }
};
/// [n, h, w, c] -> [n, size, c], any dtype: the element whose centre is nearest, of two the one
/// with the higher index.
Tensor resize_nearest(Tensor x, ResizeOptions options);
Tensor resize_bilinear(Tensor x, ResizeOptions options);  ///< [n, h, w, c] -> [n, size, c]

}  // namespace belfry
