// Gradients of convolutions with respect to the input, on oneDNN: plain channels-last images,
// kernel packed once a step.

#include <array>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/onednn/onednn_api.h"
#include "belfry/framework/backend/cpu/onednn/onednn_conv.h"
#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

using Description = dnnl::convolution_backward_data::primitive_desc;

Description describe(const OnednnConv& conv, const ConvGeometry& g) {
  // The direct kernel computes 16 input channels at a time, however many there are. With few, the
  // matrix product that a kernel in plain layout leads to is faster (README, "Convolutions"). Most
  // images of few channels have a kernel of ours (conv_kernels.h).
  bool few = g.groups == 1 && g.in_channels <= 8;
  const dnnl::memory::desc& kernel = few ? conv.kernel : conv.any_kernel;
  return describe_gradient<dnnl::convolution_backward_data>(
      conv.forward(kernel, false), workspace_attributes(), dnnl::algorithm::convolution_direct,
      conv.x, kernel, conv.y, conv.stride, conv.dilation, conv.before, conv.after);
}

class OnednnConvGradInput final : public Kernel {
 public:
  OnednnConvGradInput(std::string_view op, const OnednnConv& conv, const Description& d)
      : packed_(pack_input(op, 1, conv.kernel, d.weights_desc())),
        primitive_(op, d,
                   {{DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                    {DNNL_ARG_WEIGHTS, d.weights_desc()},
                    {DNNL_ARG_DIFF_SRC, d.diff_src_desc()}}) {}

  Bytes workspace() const override { return primitive_.scratch(); }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream&) override {
    primitive_.run(std::array{arguments.inputs[0], arguments.inputs[1], arguments.outputs[0]},
                   arguments.workspace);
  }

 private:
  std::vector<PackedInput> packed_;
  Primitive primitive_;
};

std::unique_ptr<Kernel> make(const Node& node, const KernelOptions& options) {
  if (has_addend(node)) return nullptr;
  if (auto kernel = winograd_grad_input(node, options)) return kernel;
  int threads = options.threads;
  ConvGeometry g = conv_geometry(node);
  if (auto kernel = few_channels_grad_input(node, g, threads)) return kernel;
  auto conv = onednn_conv(g, node.output().dtype);
  if (!conv) return nullptr;
  return make_onednn_kernel(node, threads, [&]() -> std::unique_ptr<Kernel> {
    if (auto kernel = patches_grad_input(node, g, threads)) return kernel;
    Description d = describe(*conv, g);
    if (slower_than_f32(node.output().dtype, d.impl_info_str())) return nullptr;
    return std::make_unique<OnednnConvGradInput>(node.op().name, *conv, d);
  });
}

const KernelRegistration registrations[] = {{conv2d_grad_input_op, make},
                                            {conv3d_grad_input_op, make}};

}  // namespace
}  // namespace belfry::cpu
