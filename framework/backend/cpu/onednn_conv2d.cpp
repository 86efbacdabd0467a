// conv2d on oneDNN: plain channels-last images, kernel packed once a step.

#include <array>
#include <string_view>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/onednn_conv.h"
#include "belfry/framework/backend/cpu/onednn_epilogue.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

using Description = dnnl::convolution_forward::primitive_desc;

/// oneDNN offers its small-matrix kernel first, which is slow where few channels go in or the image
/// is tiny (README, "Convolutions"); the direct one stands next.
Description choose(const OnednnConv& conv, const ConvGeometry& g, bool bias) {
  Description first = conv.forward(conv.any_kernel, bias, workspace_attributes());
  bool unsuited = g.in_per_group() < 4 || g.columns.out <= 4;
  if (!unsuited || !std::string_view(first.impl_info_str()).starts_with("brgconv:")) return first;
  Description second = conv.forward(conv.any_kernel, bias, workspace_attributes());
  bool direct = second.next_impl() && std::string_view(second.impl_info_str()).starts_with("jit:");
  return direct ? second : first;
}

class OnednnConv2d final : public Kernel {
 public:
  OnednnConv2d(const Node& node, int threads, const OnednnConv& conv, const Description& d)
      : options_(node.as<ConvOptions>()),
        y_(node.output()),
        threads_(threads),
        packed_(pack_input(node.op().name, 1, conv.kernel, d.weights_desc())),
        primitive_(node.op().name, d, operands(d, options_.bias)) {}

  Bytes workspace() const override { return primitive_.scratch(); }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream&) override {
    auto in = arguments.inputs;
    std::array<void*, 4> operands{in[0], in[1], arguments.outputs[0],
                                  options_.bias ? in[2] : nullptr};
    primitive_.run(std::span(operands).first(options_.bias ? 4 : 3), arguments.workspace);
    if (options_.activation == Activation::relu)
      relu_in_place(arguments.outputs[0], y_.dtype, y_.shape.elements(), threads_);
  }

 private:
  static std::vector<Primitive::Operand> operands(const Description& d, bool bias) {
    std::vector<Primitive::Operand> list = {{DNNL_ARG_SRC, d.src_desc()},
                                            {DNNL_ARG_WEIGHTS, d.weights_desc()},
                                            {DNNL_ARG_DST, d.dst_desc()}};
    if (bias) list.push_back({DNNL_ARG_BIAS, d.bias_desc()});
    return list;
  }

  ConvOptions options_;
  TensorType y_;
  int threads_;
  std::vector<PackedInput> packed_;
  Primitive primitive_;
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  const auto& o = node.as<ConvOptions>();
  ConvGeometry g =
      conv_geometry(node.op().name, node.input(0).shape(), node.input(1).shape(), o.window);
  auto conv = onednn_conv(g, node.output().dtype);
  if (!conv) return nullptr;
  return make_onednn_kernel(node, threads, [&] {
    return std::make_unique<OnednnConv2d>(node, threads, *conv, choose(*conv, g, o.bias));
  });
}

const KernelRegistration registration(conv2d_op, make);

}  // namespace
}  // namespace belfry::cpu
