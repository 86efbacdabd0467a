#pragma once
// Convolutions and their gradients as single nodes, for tests of the kernels that compute them.

#include <vector>

#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "cpu_onednn_testing.h"

namespace belfry::cpu {

struct ConvCase {
  Shape x = {}, kernel = {};
  ConvWindow options = {};
  bool volume() const { return options.axes() == 3; }
  Shape output() const { return conv_geometry("test", x, kernel, options).output(); }
  std::int64_t filters() const { return *(kernel.end() - 1); }
};

/// The node of one direction, built on inputs of the case's shapes.
using BuildConv = Tensor (*)(const std::vector<Tensor>& inputs, const ConvCase& c);

inline Tensor conv_forward(const std::vector<Tensor>& in, const ConvCase& c) {
  return apply1(c.volume() ? conv3d_op : conv2d_op, in, ConvOptions{.window = c.options});
}
inline Tensor conv_with_bias_and_relu(const std::vector<Tensor>& in, const ConvCase& c) {
  return apply1(c.volume() ? conv3d_op : conv2d_op, in,
                ConvOptions{.window = c.options, .bias = true, .activation = Activation::relu});
}
inline Tensor conv_grad_input(const std::vector<Tensor>& in, const ConvCase& c) {
  ConvGradInputOptions options{c.options, {c.x.begin() + 1, c.x.end() - 1}};
  return (c.volume() ? conv3d_grad_input : conv2d_grad_input)(in[0], in[1], options);
}
inline Tensor conv_grad_kernel(const std::vector<Tensor>& in, const ConvCase& c) {
  ConvGradKernelOptions options{c.options, {c.kernel.begin(), c.kernel.end() - 2}};
  return (c.volume() ? conv3d_grad_kernel : conv2d_grad_kernel)(in[0], in[1], options);
}

}  // namespace belfry::cpu
