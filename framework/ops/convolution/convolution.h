#pragma once
// The parts that a convolution and its two gradients share, over as many axes as the options are
// for.

#include <vector>

#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {

/// Whether a gradient with respect to the input is added to another one, its third operand.
inline bool has_addend(const Node& node) { return node.inputs().size() == 3; }

/// The flops of a convolution or of one of its gradients.
double convolution_flops(const Node& node);

/// New nodes, of conv2d or conv3d as `window` is for.
Tensor convolve(Tensor x, Tensor kernel, const ConvWindow& window);
/// The gradient with respect to x of this size: (depth,) rows, columns.
Tensor convolve_grad_input(Tensor dy, Tensor kernel, const ConvWindow& window,
                           std::vector<std::int64_t> input_size);
/// The gradient with respect to a kernel of this size.
Tensor convolve_grad_kernel(Tensor x, Tensor dy, const ConvWindow& window,
                            std::vector<std::int64_t> kernel_size);

/// Sizes of the window's axes: of x or y [n, (d,) h, w, c], of a kernel [(kd,) kh, kw, in, out].
std::vector<std::int64_t> image_size(const Tensor& x);
std::vector<std::int64_t> kernel_size(const Tensor& kernel);

/// Calls f(place) for each place of these extents (in which n counts images), row-major.
template <class F>
void for_each_position(const Position& extents, F&& f) {
  for (std::int64_t n = 0; n < extents.n; ++n)
    for (std::int64_t d = 0; d < extents.d; ++d)
      for (std::int64_t h = 0; h < extents.h; ++h)
        for (std::int64_t w = 0; w < extents.w; ++w) f(Position{n, d, h, w});
}

inline Position input_extents(const ConvGeometry& g) {
  return {g.batch, g.depth.in, g.rows.in, g.columns.in};
}
inline Position output_extents(const ConvGeometry& g) {
  return {g.batch, g.depth.out, g.rows.out, g.columns.out};
}
inline Position window_extents(const ConvGeometry& g) {
  return {1, g.depth.window, g.rows.window, g.columns.window};
}

}  // namespace belfry
