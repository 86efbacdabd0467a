#include "belfry/framework/backend/cpu/onednn_conv.h"

#include "belfry/framework/backend/cpu/onednn_api.h"

namespace belfry::cpu {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

OnednnConv::OnednnConv(const ConvGeometry& g, memory::data_type type)
    : x({g.batch, g.in_channels, g.rows.in, g.columns.in}, type, Tag::nhwc),
      y({g.batch, g.out_channels, g.rows.out, g.columns.out}, type, Tag::nhwc),
      bias({g.out_channels}, type, Tag::a),
      stride{g.rows.stride, g.columns.stride},
      dilation{g.rows.dilation - 1, g.columns.dilation - 1},  // oneDNN counts the gaps
      before{g.rows.before, g.columns.before},
      after{g.rows.after, g.columns.after} {
  memory::dims sizes{g.out_per_group(), g.in_per_group(), g.rows.window, g.columns.window};
  if (g.groups > 1) sizes.insert(sizes.begin(), g.groups);
  kernel = memory::desc(sizes, type, g.groups > 1 ? Tag::hwigo : Tag::hwio);
  any_kernel = memory::desc(sizes, type, Tag::any);
}

dnnl::convolution_forward::primitive_desc OnednnConv::forward(
    const memory::desc& kernel_layout, bool with_bias, const dnnl::primitive_attr& attributes,
    int n) const {
  return nth_implementation<dnnl::convolution_forward>(
      n, attributes, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x,
      kernel_layout, with_bias ? bias : memory::desc(), y, stride, dilation, before, after);
}

std::optional<OnednnConv> onednn_conv(const ConvGeometry& g, DType dtype) {
  auto type = onednn_type(dtype);
  bool empty = g.input().elements() == 0 || g.output().elements() == 0;
  if (!type || empty) return std::nullopt;
  return OnednnConv(g, *type);
}

}  // namespace belfry::cpu
