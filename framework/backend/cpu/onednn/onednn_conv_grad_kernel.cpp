// Gradients of convolutions with respect to the kernel, on oneDNN: plain channels-last images. The
// primitive's gradient is computed in the layout that it likes best and then brought into ours.

#include <algorithm>
#include <array>
#include <optional>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/onednn/onednn_api.h"
#include "belfry/framework/backend/cpu/onednn/onednn_conv.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

using Description = dnnl::convolution_backward_weights::primitive_desc;

/// On AVX2, oneDNN 2.6's kernel for windows of one tap with gaps between them writes beyond its
/// scratch memory where fewer than 8 channels go in. It takes no gradient in plain layout.
bool overruns(const ConvGeometry& g) {
  bool gaps = g.depth.stride > 1 || g.rows.stride > 1 || g.columns.stride > 1;
  return g.taps() == 1 && gaps && g.in_channels < 8;
}

/// oneDNN 2.6's kernels misplace taps, and write beyond their memory, where windows begin three or
/// more in front of a volume that is not much larger than they are.
bool overhangs(const ConvGeometry& g) {
  auto over = [](const WindowAxis& a) { return a.before >= 3 && a.in < 2 * a.extent(); };
  return g.volume && (over(g.depth) || over(g.rows) || over(g.columns));
}

/// In 16 bits, they also take what lies behind an image for a part of it:
///   where the columns are fewer than their stride;
///   with a stride above 1 and padding behind the last window, in volumes, and along the columns of
///   images where there is one window;
///   in volumes that are smaller than a window along some axis.
bool overreaches(const ConvGeometry& g) {
  auto behind = [](const WindowAxis& a) { return a.stride > 1 && a.after > 0; };
  auto small = [](const WindowAxis& a) { return a.in < a.extent(); };
  if (g.columns.in < g.columns.stride || (behind(g.columns) && g.columns.out == 1)) return true;
  return g.volume
         && (behind(g.depth) || behind(g.rows) || behind(g.columns) || small(g.depth)
             || small(g.rows) || small(g.columns));
}

Description describe(const OnednnConv& conv, const ConvGeometry& g) {
  const dnnl::memory::desc& kernel = overruns(g) ? conv.kernel : conv.any_kernel;
  return describe_gradient<dnnl::convolution_backward_weights>(
      conv.forward(kernel, false), workspace_attributes(), dnnl::algorithm::convolution_direct,
      conv.x, kernel, conv.y, conv.stride, conv.dilation, conv.before, conv.after);
}

class OnednnConvGradKernel final : public Kernel {
 public:
  OnednnConvGradKernel(std::string_view op, const OnednnConv& conv, const Description& d)
      : primitive_(op, d,
                   {{DNNL_ARG_SRC, d.src_desc()},
                    {DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                    {DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc()}}) {
    if (d.diff_weights_desc() == conv.kernel) return;
    gradient_size_ = aligned(size_of(d.diff_weights_desc()));
    unpack_.emplace(op, d.diff_weights_desc(), conv.kernel);
  }

  /// The gradient in the primitive's layout, then scratch memory.
  Bytes workspace() const override {
    Bytes scratch = primitive_.scratch();
    if (unpack_) scratch = std::max(scratch, unpack_->workspace());
    return Bytes(gradient_size_.count + scratch.count);
  }
  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream& stream) override {
    auto* workspace = arguments.scratch<std::byte>();
    void* scratch = workspace + gradient_size_.count;
    void* gradient = unpack_ ? workspace : arguments.outputs[0];
    primitive_.run(std::array{arguments.inputs[0], arguments.inputs[1], gradient}, scratch);
    if (unpack_) unpack_->run({std::array{gradient}, arguments.outputs, scratch}, stream);
  }

 private:
  Primitive primitive_;
  std::optional<ReorderKernel> unpack_;  // when the primitive's layout is not ours
  Bytes gradient_size_{0};
};

std::unique_ptr<Kernel> make(const Node& node, const KernelOptions& options) {
  if (auto kernel = winograd_grad_kernel(node, options)) return kernel;
  int threads = options.threads;
  ConvGeometry g = conv_geometry(node);
  auto conv = onednn_conv(g, node.output().dtype);
  if (!conv) return nullptr;
  return make_onednn_kernel(node, threads, [&]() -> std::unique_ptr<Kernel> {
    if (auto kernel = patches_grad_kernel(node, g, threads, overhangs(g))) return kernel;
    DType dtype = node.output().dtype;
    if (overhangs(g) || (dtype != DType::f32 && overreaches(g))) return nullptr;
    Description d = describe(*conv, g);
    if (slower_than_f32(dtype, d.impl_info_str())) return nullptr;
    return std::make_unique<OnednnConvGradKernel>(node.op().name, *conv, d);
  });
}

const KernelRegistration registrations[] = {{conv2d_grad_kernel_op, make},
                                            {conv3d_grad_kernel_op, make}};

}  // namespace
}  // namespace belfry::cpu
