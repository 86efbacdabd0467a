#include <algorithm>

#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/convolution/one_row.h"

namespace belfry {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The output along an axis that output_size 0 stands for: the largest of which the convolution
/// makes `size` when same, else the smallest.
std::int64_t default_output(std::int64_t size, const Window& window, std::size_t axis) {
  if (window.padding.kind == Padding::Kind::same) return size * window.stride[axis];
  std::int64_t padding = 0;
  if (window.padding.kind == Padding::Kind::given)
    padding = window.padding.amounts[2 * axis] + window.padding.amounts[2 * axis + 1];
  return (size - 1) * window.stride[axis] + (window.size[axis] - 1) * window.dilation[axis] + 1
         - padding;
}

void check_operands(std::string_view name, const Tensor& x, const Tensor& kernel, int axes) {
  require_input(name, x.type(), axes, "in");
  require_rank(name, "kernel", kernel.type(), axes + 2,
               axes_text("", "k", axes, "out / groups, in"));
  require(x.size(-1) == kernel.size(-1), name, ": input has ", x.size(-1),
          " channels but the kernel expects ", kernel.size(-1));
}

/// The output size that is asked for, with the defaults filled in, for an input of size `in`.
Sizes output_size(std::string_view name, const Sizes& in, const Window& window, Sizes size) {
  auto text = [](const Sizes& sizes) { return join(sizes, " x "); };
  check_window(name, window);
  require(*std::min_element(size.begin(), size.end()) >= 0, name,
          ": output_size must be at least 1, or 0 for the default, along each axis, got ",
          text(size));
  for (std::size_t i = 0; i < size.size(); ++i)
    if (size[i] == 0) size[i] = default_output(in[i], window, i);
  require(*std::min_element(size.begin(), size.end()) >= 1, name, ": an output of ", text(size),
          " is empty; pad less");
  WindowAxes axes = slide(name, size, window);
  Sizes made;
  for (std::size_t i = axes.size() - size.size(); i < axes.size(); ++i)
    made.push_back(axes.at(i).out);
  require(made == in, name, ": an output of ", text(size), " belongs to an input of ", text(made),
          ", but the input is ", text(in));
  return size;
}

/// Groups and channels of the convolution, whose image is as large as `size` says.
void check_channels(std::string_view name, const Tensor& kernel, const ConvWindow& o,
                    const Sizes& size) {
  Sizes image{1};
  image.insert(image.end(), size.begin(), size.end());
  image.push_back(kernel.size(-2) * o.groups);
  conv_geometry(name, Shape(image), kernel.shape(), o);
}

Tensor transposed(std::string_view name, Tensor x, Tensor kernel, const ConvWindow& o,
                  std::span<const std::int64_t> asked) {
  require_defined(name, {x, kernel});
  Sizes size;
  check_at(x, [&] {
    check_operands(name, x, kernel, o.axes());
    Sizes window = kernel_size(kernel);
    size = output_size(
        name, image_size(x),
        {.size = window, .stride = o.stride, .dilation = o.dilation, .padding = o.padding},
        {asked.begin(), asked.end()});
    check_channels(name, kernel, o, size);
  });
  return convolve_grad_input(x, kernel, o, size);
}

}  // namespace

Tensor conv1d_transpose(Tensor x, Tensor kernel, Conv1dOptions o, std::int64_t asked) {
  constexpr std::string_view name = "conv1d_transpose";
  require_defined(name, {x, kernel});
  check_at(x, [&] {
    check_operands(name, x, kernel, 1);
    Sizes window = kernel_size(kernel);
    asked = output_size(name, image_size(x),
                        {.size = window,
                         .stride = {&o.stride, 1},
                         .dilation = {&o.dilation, 1},
                         .padding = o.padding},
                        {asked})[0];
  });
  return as_signal(transposed(name, as_image(x), as_image_kernel(kernel), image_options(name, o),
                              std::array<std::int64_t, 2>{1, asked}));
}

Tensor conv2d_transpose(Tensor x, Tensor kernel, Conv2dOptions options, Size2 output_size) {
  return transposed("conv2d_transpose", x, kernel, options, output_size.array());
}

Tensor conv3d_transpose(Tensor x, Tensor kernel, Conv3dOptions options, Size3 output_size) {
  return transposed("conv3d_transpose", x, kernel, options, output_size.array());
}

}  // namespace belfry
