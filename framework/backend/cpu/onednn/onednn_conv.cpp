#include "belfry/framework/backend/cpu/onednn/onednn_conv.h"

#include <functional>

#include "belfry/framework/backend/cpu/onednn/onednn_api.h"

namespace belfry::cpu {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

namespace {

/// `first`, then one number of each axis.
template <class Number>
memory::dims sizes(memory::dims first, const ConvGeometry& g, Number number) {
  for (const WindowAxis& axis : g.axes()) first.push_back(std::invoke(number, axis));
  return first;
}

Tag image_layout(const ConvGeometry& g) { return g.volume ? Tag::ndhwc : Tag::nhwc; }

Tag kernel_layout(const ConvGeometry& g) {
  if (g.groups > 1) return g.volume ? Tag::dhwigo : Tag::hwigo;
  return g.volume ? Tag::dhwio : Tag::hwio;
}

}  // namespace

OnednnConv::OnednnConv(const ConvGeometry& g, memory::data_type type)
    : x(sizes({g.batch, g.in_channels}, g, &WindowAxis::in), type, image_layout(g)),
      y(sizes({g.batch, g.out_channels}, g, &WindowAxis::out), type, image_layout(g)),
      bias({g.out_channels}, type, Tag::a),
      stride(sizes({}, g, &WindowAxis::stride)),
      // oneDNN counts the gaps.
      dilation(sizes({}, g, [](const WindowAxis& axis) { return axis.dilation - 1; })),
      before(sizes({}, g, &WindowAxis::before)),
      after(sizes({}, g, &WindowAxis::after)) {
  memory::dims first{g.out_per_group(), g.in_per_group()};
  if (g.groups > 1) first.insert(first.begin(), g.groups);
  memory::dims all = sizes(first, g, &WindowAxis::window);
  kernel = memory::desc(all, type, kernel_layout(g));
  any_kernel = memory::desc(all, type, Tag::any);
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
