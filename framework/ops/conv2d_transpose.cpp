#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

constexpr std::string_view name = "conv2d_transpose";

/// The smallest output along an axis of which the convolution makes `size`.
std::int64_t smallest_output(std::int64_t size, std::int64_t window, const Conv2dOptions& o,
                             std::size_t axis) {
  if (o.padding.kind == Padding::Kind::same) return size * o.stride[axis];
  std::int64_t padding = 0;
  if (o.padding.kind == Padding::Kind::given)
    padding = o.padding.amounts[2 * axis] + o.padding.amounts[2 * axis + 1];
  return (size - 1) * o.stride[axis] + (window - 1) * o.dilation[axis] + 1 - padding;
}

void check(const Tensor& x, const Tensor& kernel) {
  require_rank(name, "input", x.type(), 4, "[n, h, w, in]");
  require_rank(name, "kernel", kernel.type(), 4, "[kh, kw, out / groups, in]");
  require(x.size(3) == kernel.size(3), name, ": input has ", x.size(3),
          " channels but the kernel expects ", kernel.size(3));
}

void check_output_size(const Tensor& x, const Tensor& kernel, const Conv2dOptions& o,
                       std::array<std::int64_t, 2> size) {
  require(size[0] >= 1 && size[1] >= 1, name, ": an output of ", size[0], " x ", size[1],
          " is empty; pad less");
  Shape y{x.size(0), size[0], size[1], kernel.size(2) * o.groups};
  ConvGeometry g = conv_geometry(name, y, kernel.shape(), o);
  require(g.rows.out == x.size(1) && g.columns.out == x.size(2), name, ": an output of ", size[0],
          " x ", size[1], " belongs to an input of ", g.rows.out, " x ", g.columns.out,
          ", but the input is ", x.size(1), " x ", x.size(2));
}

}  // namespace

Tensor conv2d_transpose(Tensor x, Tensor kernel, Conv2dOptions options,
                        std::array<std::int64_t, 2> output_size) {
  check_at(x, [&] {
    check(x, kernel);
    if (output_size == std::array<std::int64_t, 2>{0, 0})
      output_size = {smallest_output(x.size(1), kernel.size(0), options, 0),
                     smallest_output(x.size(2), kernel.size(1), options, 1)};
    check_output_size(x, kernel, options, output_size);
  });
  return conv2d_grad_input(x, kernel, {options, output_size});
}

}  // namespace belfry
