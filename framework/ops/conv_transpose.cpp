#include <algorithm>

#include "belfry/framework/ops/convolution.h"
#include "belfry/framework/ops/one_row.h"

namespace belfry {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The smallest output along an axis of which the convolution makes `size`.
std::int64_t smallest_output(std::int64_t size, std::int64_t window, const ConvWindow& o,
                             std::size_t axis) {
  if (o.padding.kind == Padding::Kind::same) return size * o.stride[axis];
  std::int64_t padding = 0;
  if (o.padding.kind == Padding::Kind::given)
    padding = o.padding.amounts[2 * axis] + o.padding.amounts[2 * axis + 1];
  return (size - 1) * o.stride[axis] + (window - 1) * o.dilation[axis] + 1 - padding;
}

void check(std::string_view name, const Tensor& x, const Tensor& kernel, int axes) {
  require_rank(name, "input", x.type(), axes + 2, axes_text("n", "", axes, "in"));
  require_rank(name, "kernel", kernel.type(), axes + 2,
               axes_text("", "k", axes, "out / groups, in"));
  require(x.size(-1) == kernel.size(-1), name, ": input has ", x.size(-1),
          " channels but the kernel expects ", kernel.size(-1));
}

void check_output_size(std::string_view name, const Tensor& x, const Tensor& kernel,
                       const ConvWindow& o, const Sizes& size) {
  auto text = [](const Sizes& sizes) { return join(sizes, " x "); };
  require(*std::min_element(size.begin(), size.end()) >= 1, name, ": an output of ", text(size),
          " is empty; pad less");
  Sizes y{x.size(0)};
  y.insert(y.end(), size.begin(), size.end());
  y.push_back(kernel.size(-2) * o.groups);
  Sizes in, given = image_size(x);
  for (const WindowAxis& axis : conv_geometry(name, Shape(y), kernel.shape(), o).axes())
    in.push_back(axis.out);
  require(in == given, name, ": an output of ", text(size), " belongs to an input of ", text(in),
          ", but the input is ", text(given));
}

Tensor transposed(std::string_view name, Tensor x, Tensor kernel, const ConvWindow& o,
                  std::span<const std::int64_t> output_size) {
  Sizes size(output_size.begin(), output_size.end());
  check_at(x, [&] {
    check(name, x, kernel, o.axes());
    Sizes in = image_size(x), window = kernel_size(kernel);
    if (std::count(size.begin(), size.end(), 0) == o.axes())
      for (std::size_t i = 0; i < size.size(); ++i)
        size[i] = smallest_output(in[i], window[i], o, i);
    check_output_size(name, x, kernel, o, size);
  });
  return convolve_grad_input(x, kernel, o, size);
}

}  // namespace

Tensor conv1d_transpose(Tensor x, Tensor kernel, Conv1dOptions options, std::int64_t output_size) {
  constexpr std::string_view name = "conv1d_transpose";
  check_at(x, [&] {
    require_rank(name, "input", x.type(), 3, "[n, w, in]");
    require_rank(name, "kernel", kernel.type(), 3, "[kw, out / groups, in]");
  });
  std::array<std::int64_t, 2> size{output_size == 0 ? 0 : 1, output_size};
  return as_signal(
      transposed(name, as_image(x), as_image_kernel(kernel), image_options(name, options), size));
}

Tensor conv2d_transpose(Tensor x, Tensor kernel, Conv2dOptions options,
                        std::array<std::int64_t, 2> output_size) {
  return transposed("conv2d_transpose", x, kernel, options, output_size);
}

Tensor conv3d_transpose(Tensor x, Tensor kernel, Conv3dOptions options,
                        std::array<std::int64_t, 3> output_size) {
  return transposed("conv3d_transpose", x, kernel, options, output_size);
}

}  // namespace belfry
