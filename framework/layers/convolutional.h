#pragma once
// Layers that convolve images, [n, h, w, c], signals, [n, w, c], and volumes, [n, d, h, w, c]. Each
// makes its variables `kernel` and `bias` under the scope it is given; they have the dtype of x.

#include <cstdint>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

struct Conv2dLayerOptions {
  std::int64_t filters;  ///< channels of the result; required
  Size2 kernel;          ///< window, in pixels; required
  Size2 stride = 1;
  Padding padding = same_padding;
  bool use_bias = true;
  Size2 dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;  ///< channels of x and filters are divided into this many, apart
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, h, w, in] -> [n, oh, ow, filters]. kernel [kh, kw, in / groups, filters], bias [filters].
/// Error: filters, kernel or groups below 1; groups does not divide in and filters; as the op
/// conv2d.
Tensor conv2d(const Scope& s, Tensor x, Conv2dLayerOptions options);

struct Conv2dTransposeLayerOptions {
  std::int64_t filters;  ///< channels of the result; required
  Size2 kernel;          ///< window, in pixels; required
  Size2 stride = 1;      ///< the factor by which the image grows
  Padding padding = same_padding;
  bool use_bias = true;
  Size2 dilation = 1;
  std::int64_t groups = 1;
  Size2 output_size = 0;  ///< of the result; 0 along an axis: the default, see the op's; when same
                          ///< h * stride, and from (h - 1) * stride + 1 on is permitted
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, h, w, in] -> [n, oh, ow, filters]. kernel [kh, kw, filters / groups, in] (initializers
/// take the last but one axis as fan-in, as in Keras), bias [filters]. Error: as conv2d.
Tensor conv2d_transpose(const Scope& s, Tensor x, Conv2dTransposeLayerOptions options);

struct DepthwiseConv2dLayerOptions {
  Size2 kernel;  ///< window, in pixels; required
  Size2 stride = 1;
  Padding padding = same_padding;
  bool use_bias = true;
  std::int64_t multiplier = 1;  ///< results for each channel of x
  Size2 dilation = 1;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// Each channel convolved by itself: x [n, h, w, c] -> [n, oh, ow, c * multiplier]. kernel
/// [kh, kw, c, multiplier], bias [c * multiplier]. Error: kernel or multiplier below 1.
Tensor depthwise_conv2d(const Scope& s, Tensor x, DepthwiseConv2dLayerOptions options);

struct Conv1dLayerOptions {
  std::int64_t filters;  ///< channels of the result; required
  std::int64_t kernel;   ///< window, in samples; required
  std::int64_t stride = 1;
  Padding padding = same_padding;
  bool use_bias = true;
  std::int64_t dilation = 1;  ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;    ///< as Conv2dLayerOptions::groups
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, w, in] -> [n, ow, filters]. kernel [kw, in / groups, filters], bias [filters].
/// Error: as the layer conv2d.
Tensor conv1d(const Scope& s, Tensor x, Conv1dLayerOptions options);

struct Conv1dTransposeLayerOptions {
  std::int64_t filters;     ///< channels of the result; required
  std::int64_t kernel;      ///< window, in samples; required
  std::int64_t stride = 1;  ///< the factor by which the signal grows
  Padding padding = same_padding;
  bool use_bias = true;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  std::int64_t output_size = 0;  ///< as Conv2dTransposeLayerOptions::output_size
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, w, in] -> [n, ow, filters]. kernel [kw, filters / groups, in], bias [filters]. As
/// the layer conv2d_transpose.
Tensor conv1d_transpose(const Scope& s, Tensor x, Conv1dTransposeLayerOptions options);

struct Conv3dLayerOptions {
  std::int64_t filters;  ///< channels of the result; required
  Size3 kernel;          ///< window, in voxels; required
  Size3 stride = 1;
  Padding padding = same_padding;
  bool use_bias = true;
  Size3 dilation = 1;       ///< distance between neighbouring taps of the kernel
  std::int64_t groups = 1;  ///< as Conv2dLayerOptions::groups
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, d, h, w, in] -> [n, od, oh, ow, filters]. kernel [kd, kh, kw, in / groups, filters], bias
/// [filters]. Error: as the layer conv2d.
Tensor conv3d(const Scope& s, Tensor x, Conv3dLayerOptions options);

struct Conv3dTransposeLayerOptions {
  std::int64_t filters;  ///< channels of the result; required
  Size3 kernel;          ///< window, in voxels; required
  Size3 stride = 1;      ///< the factor by which the volume grows
  Padding padding = same_padding;
  bool use_bias = true;
  Size3 dilation = 1;
  std::int64_t groups = 1;
  Size3 output_size = 0;  ///< as Conv2dTransposeLayerOptions::output_size
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// x [n, d, h, w, in] -> [n, od, oh, ow, filters]. kernel [kd, kh, kw, filters / groups, in], bias
/// [filters]. As the layer conv2d_transpose.
Tensor conv3d_transpose(const Scope& s, Tensor x, Conv3dTransposeLayerOptions options);

}  // namespace belfry
