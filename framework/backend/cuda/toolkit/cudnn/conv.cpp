// conv2d and its gradients on cuDNN. The kernel is brought into cuDNN's layout once a step, its
// gradient back into ours.

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cuda/kernels/bias_activation.h"
#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"
#include "belfry/framework/backend/cuda/toolkit/of_device.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry::cuda {
namespace {

Convolution convolution_of(const ConvGeometry& g, ConvDirection direction, DType dtype) {
  Convolution c{.direction = direction,
                .dtype = dtype,
                .batch = g.batch,
                .in_channels = g.in_channels,
                .out_channels = g.out_channels,
                .in_per_group = g.in_per_group()};
  for (const WindowAxis& axis : {g.rows, g.columns}) {
    c.in.push_back(axis.in);
    c.out.push_back(axis.out);
    c.window.push_back(axis.window);
    c.stride.push_back(axis.stride);
    c.dilation.push_back(axis.dilation);
    c.before.push_back(axis.before);
    c.after.push_back(axis.after);
  }
  return c;
}

/// A kernel of backend/cuda that rearranges one array: build(x) names the op.
template <class Build>
std::shared_ptr<Kernel> rearrange(const TensorType& x, const Gpu& gpu, Build build) {
  Graph graph;
  auto kernel = find_kernel(build(input(graph, "x", x)).node(), gpu, {});
  ensure(kernel && kernel->workspace().count == 0, "conv: no kernel that rearranges ", x);
  return kernel;
}

/// The padding that stands in front but not behind, or the other way round: some engines want both
/// alike, and then it is made part of the image.
struct Inset {
  std::vector<std::int64_t> before{0}, after{0};  // of the array's axes
  bool any = false;

  explicit Inset(Convolution& c) {
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      std::int64_t alike = std::min(c.before[i], c.after[i]);
      before.push_back(c.before[i] - alike);
      after.push_back(c.after[i] - alike);
      any = any || c.before[i] != c.after[i];
      c.in[i] += before.back() + after.back();
      c.before[i] = c.after[i] = alike;
    }
    before.push_back(0);
    after.push_back(0);
  }
};

Bytes rounded(std::int64_t bytes) {
  return Bytes((bytes + alignment_of_scratch - 1) / alignment_of_scratch * alignment_of_scratch);
}

class CudnnConv final : public Kernel {
 public:
  CudnnConv(const Convolution& c, GraphPlan plan) : c_(c), plan_(std::move(plan)) {}

  /// The image is larger in the plan: `kernel` makes the plan's from ours, or back.
  void inset(std::shared_ptr<Kernel> kernel, std::int64_t bytes) {
    inset_ = std::move(kernel);
    image_ = rounded(bytes);
  }
  /// The plan's layout of the kernel is another: `kernel` makes it from ours, or back.
  void arrange(std::shared_ptr<Kernel> kernel, std::int64_t bytes) {
    arrange_ = std::move(kernel);
    if (c_.direction == ConvDirection::kernel) {
      gradient_ = rounded(bytes);
    } else {
      packed_ = {{.input = 1, .layout = "cudnn krsc", .size = Bytes(bytes), .pack = arrange_}};
    }
  }
  void epilogue(const Epilogue& all, bool inside) {
    epilogue_ = all;
    inside_ = inside;
  }

  Bytes workspace() const override {
    return workspace_for(static_cast<std::size_t>(image_.count + gradient_.count)
                         + plan_.workspace());
  }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return "cudnn"; }

  void run(const KernelArguments& arguments, Stream& stream) override {
    auto* scratch = static_cast<std::byte*>(scratch_at(arguments.workspace));
    void* larger = scratch;
    void* gradient = scratch + image_.count;
    void *in0 = arguments.inputs[0], *in1 = arguments.inputs[1], *out = arguments.outputs[0];
    bool forward = c_.direction == ConvDirection::forward,
         to_kernel = c_.direction == ConvDirection::kernel;
    void* x = forward || to_kernel ? in0 : out;
    void* y = forward ? out : to_kernel ? in1 : in0;
    if (inset_ && x == in0) inset_->run({std::array{x}, std::array{larger}, nullptr}, stream);
    void* bias = epilogue_.bias ? arguments.inputs[2] : nullptr;
    std::array<Operand, 4> operands{Operand{id_x, inset_ ? larger : x},
                                    Operand{id_w, to_kernel ? gradient : in1}, Operand{id_y, y},
                                    Operand{id_bias, bias}};
    plan_.run(std::span(operands).first(bias && inside_ ? 4 : 3),
              scratch + image_.count + gradient_.count, stream);
    if (inset_ && x == out) inset_->run({std::array{larger}, std::array{x}, nullptr}, stream);
    if (to_kernel) arrange_->run({std::array{gradient}, std::array{out}, nullptr}, stream);
    if (inside_) return;
    std::int64_t places = c_.batch;
    for (std::int64_t size : c_.out) places *= size;
    enqueue_bias_activation(
        stream,
        {.dtype = c_.dtype, .rows = places, .columns = c_.out_channels, .relu = epilogue_.relu}, y,
        bias);
  }

 private:
  Convolution c_;
  GraphPlan plan_;
  std::shared_ptr<Kernel> inset_, arrange_;
  std::vector<PackedInput> packed_;
  Bytes image_{0}, gradient_{0};  // rounded, in the workspace, in front of the plan's
  Epilogue epilogue_;
  bool inside_ = true;  // whether the plan does the epilogue
};

/// With the epilogue inside, or else behind.
std::unique_ptr<CudnnConv> find(const std::shared_ptr<CudnnHandle>& library, const Convolution& c,
                                const Epilogue& epilogue, bool tf32) {
  std::unique_ptr<CudnnConv> kernel;
  for (bool inside : {true, false}) {
    if (!inside && !epilogue.bias && !epilogue.relu) break;
    auto plan = find_plan(library, c, inside ? epilogue : Epilogue{}, tf32);
    if (!plan) continue;
    kernel = std::make_unique<CudnnConv>(c, std::move(*plan));
    kernel->epilogue(epilogue, inside);
    break;
  }
  return kernel;
}

std::unique_ptr<Kernel> make(const Convolution& c, const Epilogue& epilogue, const Gpu& gpu,
                             const KernelOptions& options) {
  Shape x = c.x();
  if (x.elements() == 0 || c.y().elements() == 0) return nullptr;
  auto library = of_device<CudnnHandle>(gpu);
  auto kernel = find(library, c, epilogue, options.tf32);
  if (!kernel) {
    Convolution alike = c;
    Inset inset(alike);
    if (inset.any) kernel = find(library, alike, epilogue, options.tf32);
    if (!kernel) return nullptr;
    TensorType ours{x, c.dtype}, larger{alike.x(), c.dtype};
    bool back = c.direction == ConvDirection::input;
    kernel->inset(rearrange(back ? larger : ours, gpu,
                            [&](Tensor t) {
                              return back ? slice(
                                         t, {.begin = inset.before, .size = {x.begin(), x.end()}})
                                          : pad(t, {.before = inset.before, .after = inset.after});
                            }),
                  larger.bytes());
  }
  // [window, in / groups, out] and [out, window, in / groups] are each other's transpose.
  std::int64_t rows = c.in_per_group;
  for (std::int64_t size : c.window) rows *= size;
  bool back = c.direction == ConvDirection::kernel;
  TensorType from{back ? Shape{c.out_channels, rows} : Shape{rows, c.out_channels}, c.dtype};
  kernel->arrange(rearrange(from, gpu, [](Tensor t) { return transpose(t); }), from.bytes());
  return kernel;
}

std::unique_ptr<Kernel> make_forward(const Node& node, const Gpu& gpu,
                                     const KernelOptions& options) {
  const auto& o = node.as<ConvOptions>();
  ConvGeometry g =
      conv_geometry(node.op().name, node.input(0).shape(), node.input(1).shape(), o.window);
  return make(convolution_of(g, ConvDirection::forward, node.output().dtype),
              {o.bias, o.activation == Activation::relu}, gpu, options);
}

std::unique_ptr<Kernel> make_grad_input(const Node& node, const Gpu& gpu,
                                        const KernelOptions& options) {
  ConvGeometry g = conv_geometry(node.op().name, node.output().shape, node.input(1).shape(),
                                 node.as<ConvGradInputOptions>().window);
  return make(convolution_of(g, ConvDirection::input, node.output().dtype), {}, gpu, options);
}

std::unique_ptr<Kernel> make_grad_kernel(const Node& node, const Gpu& gpu,
                                         const KernelOptions& options) {
  ConvGeometry g = conv_geometry(node.op().name, node.input(0).shape(), node.output().shape,
                                 node.as<ConvGradKernelOptions>().window);
  return make(convolution_of(g, ConvDirection::kernel, node.output().dtype), {}, gpu, options);
}

const KernelRegistration registrations[] = {
    {conv2d_op, make_forward, Preference::library},
    {conv2d_grad_input_op, make_grad_input, Preference::library},
    {conv2d_grad_kernel_op, make_grad_kernel, Preference::library}};

}  // namespace
}  // namespace belfry::cuda
