#pragma once
// The op objects behind nn.h with their operands and options, for rewriting passes, fast kernels
// and tests. Users call the functions in nn.h.

#include <array>
#include <cstdint>
#include <vector>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

// ---- convolutions; the geometry of all is in conv_geometry.h

/// The options of a convolution over images (two axes) or volumes (three).
struct ConvWindow {
  std::vector<std::int64_t> stride, dilation;  ///< one for each axis
  std::int64_t groups = 1;
  Padding padding = same_padding;

  ConvWindow(const Conv2dOptions& o = {})
      : ConvWindow(o.stride.array(), o.dilation.array(), o.groups, o.padding) {}
  ConvWindow(const Conv3dOptions& o)
      : ConvWindow(o.stride.array(), o.dilation.array(), o.groups, o.padding) {}
  int axes() const { return stride.size(); }
  BELFRY_FIELDS(stride, dilation, groups, padding)

 private:
  template <class Sizes>
  ConvWindow(const Sizes& s, const Sizes& d, std::int64_t g, const Padding& p)
      : stride(s.begin(), s.end()), dilation(d.begin(), d.end()), groups(g), padding(p) {}
};

/// (x, kernel, [bias]) -> y. Bias and activation are set by the fusing pass alone.
struct ConvOptions {
  ConvWindow window = {};
  bool bias = false;  ///< input 2, [out], is added
  Activation activation = Activation::none;
  static void fields(auto& o, auto&& field) {
    ConvWindow::fields(o.window, field);
    field("bias", o.bias);
    field("activation", o.activation);
  }
};
extern const OpDef conv2d_op;
extern const OpDef conv3d_op;

/// (dy, kernel, [addend]) -> dx: the gradient of a convolution with respect to x; forward it is the
/// transposed convolution. An addend, of dx's type, is another gradient of x, which the compiler
/// has added where the device does that in one pass.
struct ConvGradInputOptions {
  ConvWindow window = {};
  std::vector<std::int64_t> input_size = {};  ///< of x: (depth,) rows, columns
  static void fields(auto& o, auto&& field) {
    ConvWindow::fields(o.window, field);
    field("input_size", o.input_size);
  }
};
extern const OpDef conv2d_grad_input_op;
extern const OpDef conv3d_grad_input_op;
Tensor conv2d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options);
Tensor conv3d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options);

/// (x, dy) -> dkernel: the gradient of a convolution with respect to the kernel.
struct ConvGradKernelOptions {
  ConvWindow window = {};
  std::vector<std::int64_t> kernel_size = {};  ///< of the kernel: (depth,) rows, columns
  static void fields(auto& o, auto&& field) {
    ConvWindow::fields(o.window, field);
    field("kernel_size", o.kernel_size);
  }
};
extern const OpDef conv2d_grad_kernel_op;
extern const OpDef conv3d_grad_kernel_op;
Tensor conv2d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options);
Tensor conv3d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options);

// ---- pools; options are Pool2dOptions

/// x -> (y, index): index, u8 or (windows above 256 elements) i32, is the place of the maximum
/// within its window, row * window columns + column.
extern const OpDef max_pool_op;

struct PoolGradOptions {
  Pool2dOptions window = {};
  std::array<std::int64_t, 2> input_size = {0, 0};  ///< rows, columns of x
  static void fields(auto& o, auto&& field) {
    Pool2dOptions::fields(o.window, field);
    field("input_size", o.input_size);
  }
};
/// (dy, index) -> dx
extern const OpDef max_pool_grad_op;
Tensor max_pool_grad(Tensor dy, Tensor index, const PoolGradOptions& options);
/// (x, index) -> y: the elements of x that index names, which is the gradient of max_pool_grad.
extern const OpDef max_pool_gather_op;
Tensor max_pool_gather(Tensor x, Tensor index, const Pool2dOptions& options);

/// x -> y
extern const OpDef avg_pool_op;
/// dy -> dx
extern const OpDef avg_pool_grad_op;
Tensor avg_pool_grad(Tensor dy, const PoolGradOptions& options);

// ---- normalisations; statistics and parameters are f32, or f64 for f64

/// (x, scale, offset, [residual]) -> (y, mean, variance, inverse standard deviation, [mask]).
/// y = activation(normalised x + residual); residual, activation and mask are set by the fusing
/// pass alone. An empty batch has mean and variance 0.
struct BatchNormOptions {
  double epsilon = 1e-3;
  Activation activation = Activation::none;
  bool residual = false;  ///< input 3, as x, is added before the activation
  /// Output 4 is where ReLU was above 0, before y was rounded: bit i % 8 of byte i / 8 for element
  /// i, u8 [elements / 8]. The channels are a multiple of 8.
  bool mask = false;
  BELFRY_FIELDS(epsilon, activation, residual, mask)
};
extern const OpDef batch_norm_train_op;

/// (x, scale, offset, mean, inverse standard deviation, [residual]) -> y: what batch_norm_train
/// made of them, to the bit, from its statistics. For the compiler, which computes y again where
/// keeping it would take memory.
struct BatchNormRecomputeOptions {
  Activation activation = Activation::none;
  bool residual = false;  ///< input 5
  BELFRY_FIELDS(activation, residual)
};
extern const OpDef batch_norm_recompute_op;

/// The operand that says where ReLU was above 0.
enum class ReluGate : std::uint8_t {
  output,  ///< y
  offset,  ///< y is computed again from x and the offset, unrounded; no residual was added to it
  mask,    ///< that of batch_norm_train
};
constexpr auto names_of(ReluGate) { return name_list("output", "offset", "mask"); }

/// (dy, x, scale, mean, inverse standard deviation, [gate when there is an activation]) ->
/// (dx, dscale, doffset, [dresidual]).
struct BatchNormGradOptions {
  Activation activation = Activation::none;
  bool residual = false;
  ReluGate gate = ReluGate::output;
  BELFRY_FIELDS(activation, residual, gate)
};
extern const OpDef batch_norm_grad_op;

/// (x [..., c], scale [c], offset [c]) -> (y, mean [...], inverse standard deviation [...])
struct LayerNormOptions {
  double epsilon = 1e-5;
  BELFRY_FIELDS(epsilon)
};
extern const OpDef layer_norm_op;
/// (dy, x, scale, mean, inverse standard deviation) -> (dx, dscale, doffset)
extern const OpDef layer_norm_grad_op;

// ---- biases

/// (dy, y [..., c]) -> (dx as dy, sums [c]): dx = relu_grad(dy, y), and its sums over all axes but
/// the last, in f32, or f64 for f64: the gradients in front of ReLU and of the bias there. For the
/// compiler: see sum_relu_gradients().
extern const OpDef relu_grad_sum_op;

// ---- softmax

extern const OpDef softmax_op;      ///< AxisOptions
extern const OpDef log_softmax_op;  ///< AxisOptions

/// (logits [n, k], labels [n]) -> (loss [n], log of the sum of exponentials [n]), both f32, or f64
/// for f64.
struct CrossEntropyOptions {
  double label_smoothing = 0;
  BELFRY_FIELDS(label_smoothing)
};
extern const OpDef sparse_softmax_cross_entropy_def;  // the function in nn.h has the usual name
/// (dy [n], logits, labels, log of the sum of exponentials) -> dlogits
extern const OpDef sparse_softmax_cross_entropy_grad_op;

// ---- resizing; for the gradients `size` is that of dx

extern const OpDef resize_nearest_op;
extern const OpDef resize_nearest_grad_op;
Tensor resize_nearest_grad(Tensor dy, const ResizeOptions& options);
extern const OpDef resize_bilinear_op;
extern const OpDef resize_bilinear_grad_op;
Tensor resize_bilinear_grad(Tensor dy, const ResizeOptions& options);

}  // namespace belfry
