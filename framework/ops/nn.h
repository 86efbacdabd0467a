#pragma once
// Ops of neural networks. Images are channels-last, [n, h, w, c], and so are signals, [n, w, c],
// and volumes, [n, d, h, w, c]; kernels are [kh, kw, in, out], with as many axes for the window.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Rows and columns of an image's grid: one number for both, or {rows, columns}.
struct Size2 {
  std::int64_t rows;     ///< along the axis h
  std::int64_t columns;  ///< along the axis w
  /// One number for both, or each its own.
  ///@{
  constexpr Size2(std::int64_t both) : rows(both), columns(both) {}  // NOLINT: `.kernel = 5`
  constexpr Size2(std::int64_t r, std::int64_t c) : rows(r), columns(c) {}
  ///@}
  /// {rows, columns}.
  constexpr std::array<std::int64_t, 2> array() const { return {rows, columns}; }
  bool operator==(const Size2&) const = default;  ///< whether both agree
};

/// Depth, rows and columns of a volume's grid: one number for all, or {depth, rows, columns}.
struct Size3 {
  std::int64_t depth;    ///< along the axis d
  std::int64_t rows;     ///< along the axis h
  std::int64_t columns;  ///< along the axis w
  /// One number for all, or each its own.
  ///@{
  constexpr Size3(std::int64_t all) : depth(all), rows(all), columns(all) {}  // NOLINT: as Size2
  constexpr Size3(std::int64_t d, std::int64_t r, std::int64_t c) : depth(d), rows(r), columns(c) {}
  ///@}
  /// {depth, rows, columns}.
  constexpr std::array<std::int64_t, 3> array() const { return {depth, rows, columns}; }
  bool operator==(const Size3&) const = default;  ///< whether all agree
};

/// Options of matmul().
struct MatmulOptions {
  bool transpose_a = false;  ///< a is [..., k, m]
  bool transpose_b = false;  ///< b is [..., n, k]
  BELFRY_FIELDS(transpose_a, transpose_b)
};
/// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast.
Tensor matmul(Tensor a, Tensor b, MatmulOptions options = {});

/// How a window meets the border.
struct Padding {
  /// The rules; see `kind`.
  enum class Kind : std::uint8_t { same, valid, given };
  /// The rule for the outputs of n elements along an axis. `same` gives ceil(n / stride) of them,
  /// the odd row of padding after, as in TensorFlow; the others give
  /// floor((n + before + after - w) / stride) + 1, where w = (window - 1) * dilation + 1 and before
  /// and after are as given, or 0 when `valid`.
  Kind kind = Kind::same;
  int axes = 0;  ///< given: of how many axes; Error if the image has another number
  std::array<std::int64_t, 6> amounts = {};  ///< given: in front of and behind each axis
  /// Padding of so many elements at each border of a signal, an image or a volume; at least 0.
  ///@{
  static constexpr Padding explicit_amounts(std::int64_t left, std::int64_t right) {
    return {Kind::given, 1, {left, right}};
  }
  static constexpr Padding explicit_amounts(std::int64_t top, std::int64_t bottom,
                                            std::int64_t left, std::int64_t right) {
    return {Kind::given, 2, {top, bottom, left, right}};
  }
  static constexpr Padding explicit_amounts(std::int64_t front, std::int64_t back, std::int64_t top,
                                            std::int64_t bottom, std::int64_t left,
                                            std::int64_t right) {
    return {Kind::given, 3, {front, back, top, bottom, left, right}};
  }
  ///@}
};
inline constexpr Padding same_padding{Padding::Kind::same};    ///< ceil(n / stride) outputs
inline constexpr Padding valid_padding{Padding::Kind::valid};  ///< none: windows stay inside
std::string to_string(const Padding& padding);                 ///< "same", "valid", "[1, 1, 2, 2]"

/// Activation that a kernel applies to its result.
enum class Activation : std::uint8_t { none, relu };
/// The names of the values, in their order.
constexpr auto names_of(Activation) { return name_list("none", "relu"); }

/// Options of conv1d() and conv1d_transpose().
struct Conv1dOptions {
  std::int64_t stride = 1;         ///< distance between neighbouring windows
  std::int64_t dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dOptions::groups
  Padding padding = same_padding;  ///< how windows meet the border
};
/// Options of conv2d(), conv2d_transpose() and depthwise_conv2d().
struct Conv2dOptions {
  Size2 stride = 1;         ///< distance between neighbouring windows
  Size2 dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;  ///< kernel is [kh, kw, in / groups, out]; groups = in is depthwise
  Padding padding = same_padding;  ///< how windows meet the border
};
/// Options of conv3d() and conv3d_transpose().
struct Conv3dOptions {
  Size3 stride = 1;                ///< distance between neighbouring windows
  Size3 dilation = 1;              ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;         ///< as Conv2dOptions::groups
  Padding padding = same_padding;  ///< how windows meet the border
};
/// x [n, w, in], kernel [kw, in / groups, out] -> [n, ow, out]: a conv2d of images with one row.
Tensor conv1d(Tensor x, Tensor kernel, Conv1dOptions options = {});
/// x [n, h, w, in], kernel [kh, kw, in / groups, out] -> [n, oh, ow, out].
Tensor conv2d(Tensor x, Tensor kernel, Conv2dOptions options = {});
/// x [n, d, h, w, in], kernel [kd, kh, kw, in / groups, out] -> [n, od, oh, ow, out].
Tensor conv3d(Tensor x, Tensor kernel, Conv3dOptions options = {});
/// The gradient of conv2d with respect to its input, as an op of its own ("deconvolution"): x
/// [n, h, w, in], kernel [kh, kw, out / groups, in] -> [n, oh, ow, out]. `output_size` is a size
/// of which the convolution makes h x w; 0 along an axis stands for the default. With same padding
/// the default is h * stride, and (h - 1) * stride + 1 to h * stride are permitted: of 7 rows with
/// a stride of 2, 14, or 13. With other padding it is (h - 1) * stride + (kh - 1) * dilation + 1 -
/// before - after, and up to stride - 1 more are permitted, which no window reaches. Error: any
/// other size.
Tensor conv2d_transpose(Tensor x, Tensor kernel, Conv2dOptions options = {}, Size2 output_size = 0);
/// The same of conv1d: x [n, w, in], kernel [kw, out / groups, in] -> [n, ow, out].
Tensor conv1d_transpose(Tensor x, Tensor kernel, Conv1dOptions options = {},
                        std::int64_t output_size = 0);
/// The same of conv3d: x [n, d, h, w, in], kernel [kd, kh, kw, out / groups, in] ->
/// [n, od, oh, ow, out].
Tensor conv3d_transpose(Tensor x, Tensor kernel, Conv3dOptions options = {}, Size3 output_size = 0);
/// x [n, h, w, c], kernel [kh, kw, c, multiplier] -> [n, oh, ow, c * multiplier]; options.groups is
/// ignored.
Tensor depthwise_conv2d(Tensor x, Tensor kernel, Conv2dOptions options = {});

/// Options of max_pool1d() and avg_pool1d().
struct Pool1dOptions {
  std::int64_t window = 2;          ///< size of a window, in samples
  std::int64_t stride = 2;          ///< distance between neighbouring windows
  Padding padding = valid_padding;  ///< how windows meet the border
};
/// Options of max_pool() and avg_pool().
struct Pool2dOptions {
  Size2 window = 2;                 ///< size of a window, in pixels
  Size2 stride = 2;                 ///< distance between neighbouring windows
  Padding padding = valid_padding;  ///< how windows meet the border
  BELFRY_FIELDS(window, stride, padding)
};
/// Options of max_pool3d() and avg_pool3d().
struct Pool3dOptions {
  Size3 window = 2;                 ///< size of a window, in voxels
  Size3 stride = 2;                 ///< distance between neighbouring windows
  Padding padding = valid_padding;  ///< how windows meet the border
};
/// [n, h, w, c] -> [n, oh, ow, c]. Padding never wins; NaN does. Gradient goes to the first
/// maximum.
Tensor max_pool(Tensor x, Pool2dOptions options = {});
/// Averages over the elements inside the image alone (as TensorFlow).
Tensor avg_pool(Tensor x, Pool2dOptions options = {});
Tensor max_pool1d(Tensor x, Pool1dOptions options = {});  ///< [n, w, c] -> [n, ow, c]
Tensor avg_pool1d(Tensor x, Pool1dOptions options = {});  ///< [n, w, c] -> [n, ow, c]
/// [n, d, h, w, c] -> [n, od, oh, ow, c].
Tensor max_pool3d(Tensor x, Pool3dOptions options = {});
/// [n, d, h, w, c] -> [n, od, oh, ow, c]. In two steps, each of which rounds to the dtype of x.
Tensor avg_pool3d(Tensor x, Pool3dOptions options = {});
/// Over all axes between the first and the last, one to three: [n, h, w, c] -> [n, c].
///@{
Tensor global_avg_pool(Tensor x);
Tensor global_max_pool(Tensor x);
///@}

/// The results of batch_norm_train.
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

/// exp(x) / sum of exp(x) along the axis, and its logarithm, for logits x. Neither overflows; a
/// negative axis counts from the end.
///@{
Tensor softmax(Tensor logits, int axis = -1);
Tensor log_softmax(Tensor logits, int axis = -1);
///@}
/// -log softmax(logits)[label], with the row's smoothing: logits [n, k], labels [n] i32 or i64 ->
/// [n] in f32, or f64 when the logits are. The target is (1 - smoothing) one_hot + smoothing / k. A
/// label outside 0..k-1 is an error when the step runs: `sparse_softmax_cross_entropy: label 10 at
/// row 3 is outside 0..9`.
Tensor sparse_softmax_cross_entropy_op(Tensor logits, Tensor labels, double label_smoothing = 0);

/// table [rows, width], ids (i32 or i64, any shape) -> ids.shape + [width]. An id outside 0..rows-1
/// is an error when the step runs.
Tensor embedding_lookup(Tensor table, Tensor ids);

/// Options of resize_nearest() and resize_bilinear().
struct ResizeOptions {
  std::array<std::int64_t, 2> size = {0, 0};  ///< rows, columns of the output
  bool align_corners = false;                 ///< corner centres coincide; else half-pixel centres
  BELFRY_FIELDS(size, align_corners)
};
/// [n, h, w, c] -> [n, size, c], any dtype: the element whose centre is nearest, of two the one
/// with the higher index.
Tensor resize_nearest(Tensor x, ResizeOptions options);
Tensor resize_bilinear(Tensor x, ResizeOptions options);  ///< [n, h, w, c] -> [n, size, c]

}  // namespace belfry
