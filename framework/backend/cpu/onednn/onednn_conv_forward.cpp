// Convolutions on oneDNN: plain channels-last images, kernel packed once a step.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/onednn/onednn_conv.h"
#include "belfry/framework/backend/cpu/onednn/onednn_epilogue.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cpu {
namespace {

using Description = dnnl::convolution_forward::primitive_desc;

/// oneDNN offers its small-matrix kernel first, which is slow where few channels go in or the image
/// is tiny (README, "Convolutions"); the direct one stands next.
Description choose(const OnednnConv& conv, const ConvGeometry& g, bool bias) {
  Description first = conv.forward(conv.any_kernel, bias, workspace_attributes());
  bool unsuited = g.in_per_group() < 4 || g.columns.out <= 4;
  std::string_view name = first.impl_info_str();
  bool small_matrices = name.starts_with("brgconv:") || name.starts_with("brg_conv_fwd:");
  if (!unsuited || !small_matrices) return first;
  Description second = conv.forward(conv.any_kernel, bias, workspace_attributes(), 1);
  bool direct = second && std::string_view(second.impl_info_str()).starts_with("jit:");
  return direct ? second : first;
}

constexpr std::int64_t cache_bytes = 512 * 1024;  // of a core's own cache, for its share of y

/// The ReLU behind the primitive goes over its output again; it should still be in the cache. So
/// the batch is cut into equal pieces, unless only much smaller ones than needed divide it.
std::int64_t images_at_once(const ConvGeometry& g, const TensorType& y, Activation activation,
                            int threads) {
  if (activation == Activation::none) return g.batch;
  std::int64_t fitting = cache_bytes * threads / (y.bytes() / g.batch);
  fitting = std::clamp<std::int64_t>(fitting, std::min<std::int64_t>(threads, g.batch), g.batch);
  std::int64_t images = fitting;
  while (g.batch % images != 0) --images;
  return images * 2 > fitting ? images : g.batch;
}

class OnednnConvForward final : public Kernel {
 public:
  /// `conv` and `d` describe one of `pieces` equal pieces of the batch.
  OnednnConvForward(const Node& node, int threads, std::int64_t pieces, const OnednnConv& conv,
                    const Description& d)
      : options_(node.as<ConvOptions>()),
        dtype_(node.output().dtype),
        threads_(threads),
        pieces_(pieces),
        x_bytes_(node.input(0).type().bytes() / pieces),
        y_bytes_(node.output().bytes() / pieces),
        y_elements_(node.output().shape.elements() / pieces),
        packed_(pack_input(node.op().name, 1, conv.kernel, d.weights_desc())),
        primitive_(node.op().name, d, operands(d, options_.bias)) {}

  Bytes workspace() const override { return primitive_.scratch(); }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream&) override {
    auto* x = static_cast<std::byte*>(arguments.inputs[0]);
    auto* y = arguments.output<std::byte>(0);
    void* bias = options_.bias ? arguments.inputs[2] : nullptr;
    for (std::int64_t i = 0; i < pieces_; ++i, x += x_bytes_, y += y_bytes_) {
      std::array<void*, 4> operands{x, arguments.inputs[1], y, bias};
      primitive_.run(std::span(operands).first(options_.bias ? 4 : 3), arguments.workspace);
      if (options_.activation == Activation::relu) relu_in_place(y, dtype_, y_elements_, threads_);
    }
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
  DType dtype_;
  int threads_;
  std::int64_t pieces_, x_bytes_, y_bytes_, y_elements_;
  std::vector<PackedInput> packed_;
  Primitive primitive_;
};

std::unique_ptr<Kernel> make(const Node& node, const KernelOptions& options) {
  if (auto kernel = winograd_forward(node, options)) return kernel;
  int threads = options.threads;
  const auto& o = node.as<ConvOptions>();
  ConvGeometry g = conv_geometry(node);
  if (node.output().shape.elements() == 0) return nullptr;
  std::int64_t pieces = g.batch / images_at_once(g, node.output(), o.activation, threads);
  g.batch /= pieces;
  auto conv = onednn_conv(g, node.output().dtype);
  if (!conv) return nullptr;
  return make_onednn_kernel(node, threads, [&]() -> std::unique_ptr<Kernel> {
    Description d = choose(*conv, g, o.bias);
    if (slower_than_f32(node.output().dtype, d.impl_info_str())) return nullptr;
    return std::make_unique<OnednnConvForward>(node, threads, pieces, *conv, d);
  });
}

const KernelRegistration registrations[] = {{conv2d_op, make}, {conv3d_op, make}};

}  // namespace
}  // namespace belfry::cpu
