#pragma once
// A convolution in oneDNN's terms, for its three directions.

#include <optional>

#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// Descriptors give sizes as [n, c, (d,) h, w] and [groups, out, in, (kd,) kh, kw] (without groups
/// when there is one) whatever the order in memory: the layouts are those of Belfry's arrays.
struct OnednnConv {
  OnednnConv(const ConvGeometry& g, dnnl::memory::data_type type);

  dnnl::memory::desc x, y;
  dnnl::memory::desc kernel;      ///< as Belfry has it
  dnnl::memory::desc any_kernel;  ///< the layout is the primitive's choice
  dnnl::memory::desc bias;
  dnnl::memory::dims stride, dilation, before, after;

  /// The description of a forward convolution, which the gradients take as a hint. `n` is the place
  /// in oneDNN's list of implementations; past its end the description is empty.
  dnnl::convolution_forward::primitive_desc forward(const dnnl::memory::desc& kernel_layout,
                                                    bool with_bias,
                                                    const dnnl::primitive_attr& attributes = {},
                                                    int n = 0) const;
};

/// Nothing when a tensor has no elements or a type that oneDNN does not take.
std::optional<OnednnConv> onednn_conv(const ConvGeometry& g, DType dtype);

}  // namespace belfry::cpu
