#include <algorithm>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

// Below these a launch and a pass over the sum would cost more than the concat.
constexpr std::int64_t least_bytes = 1 << 20, least_channels = 8;

bool is_convolution(const Node& node) { return node.is(conv2d_op) || node.is(conv3d_op); }
bool is_kernel_gradient(const Node& node) {
  return node.is(conv2d_grad_kernel_op) || node.is(conv3d_grad_kernel_op);
}
bool is_input_gradient(const Node& node) {
  return node.is(conv2d_grad_input_op) || node.is(conv3d_grad_input_op);
}

// The part of a kernel that a range of the input's channels meets.
Tensor kernel_part(const Tensor& kernel, std::int64_t first, std::int64_t channels) {
  std::size_t axis = kernel.rank() - 2;
  SliceOptions part{.begin = std::vector<std::int64_t>(axis + 2),
                    .size = {kernel.shape().begin(), kernel.shape().end()}};
  part.begin[axis] = first;
  part.size[axis] = channels;
  return slice(kernel, std::move(part));
}

class ConvolveParts {
 public:
  explicit ConvolveParts(const Program& program)
      : readers_(program.graph->size()), program_(program) {
    auto live = live_nodes(*program.graph, program.outputs, program.effects);
    for (const auto& node : *program.graph)
      if (live[index(*node)])
        for (const Tensor& t : node->inputs()) readers_[index(t.node())].push_back(node.get());
  }

  std::optional<std::vector<Tensor>> operator()(const Node& old, Rewriting& to) const {
    if (is_convolution(old) && is_in_parts(old.input(0).node())) return sum_of_parts(old, to);
    if (is_kernel_gradient(old) && is_in_parts(old.input(0).node()))
      return kernel_gradients(old, to);
    if (old.is(slice_op) && is_sliced(old.input(0).node())) return gradient_of_slice(old, to);
    return std::nullopt;
  }

 private:
  static std::size_t index(const Node& node) { return node.id(); }

  bool is_root(const Node& node) const {
    return std::ranges::any_of(program_.outputs,
                               [&](const Tensor& t) { return &t.node() == &node; });
  }

  // A concat of channels that convolutions and the gradients of their kernels alone read.
  bool is_in_parts(const Node& node) const {
    if (!node.is(concat_op) || is_root(node)) return false;
    const TensorType& type = node.output();
    int rank = type.shape.rank();
    if (type.dtype != DType::f32 || node.as<AxisOptions>().axis != rank - 1
        || type.bytes() < least_bytes)
      return false;
    bool wide = std::ranges::all_of(node.inputs(),
                                    [](const Tensor& t) { return t.size(-1) >= least_channels; });
    auto takes_parts = [&](const Node* reader) {
      if (is_kernel_gradient(*reader))
        return &reader->input(0).node() == &node && &reader->input(1).node() != &node
               && reader->as<ConvGradKernelOptions>().window.groups == 1;
      // Each part but the first is another pass over the result.
      return is_convolution(*reader) && &reader->input(1).node() != &node
             && reader->as<ConvOptions>().window.groups == 1 && !reader->as<ConvOptions>().bias
             && reader->as<ConvOptions>().activation == Activation::none
             && reader->output().bytes() * (std::ssize(node.inputs()) - 1) <= type.bytes();
    };
    return wide && std::ranges::all_of(readers_[index(node)], takes_parts);
  }

  std::vector<Tensor> sum_of_parts(const Node& old, Rewriting& to) const {
    const Tensor& kernel = to(old.input(1));
    const ConvWindow& window = old.as<ConvOptions>().window;
    Tensor sum;
    std::int64_t first = 0;
    for (const Tensor& part : old.input(0).node().inputs()) {
      Tensor y = convolve(to(part), kernel_part(kernel, first, part.size(-1)), window);
      sum = sum.defined() ? add(sum, y) : y;
      first += part.size(-1);
    }
    return {sum};
  }

  std::vector<Tensor> kernel_gradients(const Node& old, Rewriting& to) const {
    const auto& o = old.as<ConvGradKernelOptions>();
    std::vector<Tensor> parts;
    for (const Tensor& part : old.input(0).node().inputs())
      parts.push_back(convolve_grad_kernel(to(part), to(old.input(1)), o.window, o.kernel_size));
    return {concat(std::move(parts), old.output().shape.rank() - 2)};
  }

  // The gradient of an input of which ranges of channels alone are read, one of a concat say.
  bool is_sliced(const Node& node) const {
    if (!is_input_gradient(node) || is_root(node) || node.output().bytes() < least_bytes
        || node.as<ConvGradInputOptions>().window.groups != 1)
      return false;
    const Shape& shape = node.output().shape;
    return std::ranges::all_of(readers_[index(node)], [&](const Node* reader) {
      if (!reader->is(slice_op)) return false;
      const auto& o = reader->as<SliceOptions>();
      for (std::size_t axis = 0; axis + 1 < o.begin.size(); ++axis)
        if (o.begin[axis] != 0 || o.size[axis] != shape[axis]) return false;
      return o.size.back() >= least_channels
             && std::ranges::all_of(o.strides, [](std::int64_t s) { return s == 1; });
    });
  }

  std::vector<Tensor> gradient_of_slice(const Node& old, Rewriting& to) const {
    const Node& gradient = old.input(0).node();
    const auto& o = gradient.as<ConvGradInputOptions>();
    const auto& channels = old.as<SliceOptions>();
    Tensor part = kernel_part(to(gradient.input(1)), channels.begin.back(), channels.size.back());
    return {convolve_grad_input(to(gradient.input(0)), part, o.window, o.input_size)};
  }

  std::vector<std::vector<const Node*>> readers_;  // by node id
  const Program& program_;
};

}  // namespace

Program convolve_parts(const Program& program) { return rewrite(program, ConvolveParts(program)); }

}  // namespace belfry
