#include "belfry/framework/ops/convolution/conv_geometry.h"

#include <limits>

#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

Shape shape(std::vector<std::int64_t> sizes, std::initializer_list<std::int64_t> last) {
  sizes.insert(sizes.end(), last);
  return Shape(sizes);
}

void check_channels(std::string_view op, std::int64_t in, std::int64_t of_kernel, std::int64_t out,
                    std::int64_t groups) {
  require(groups >= 1, op, ": groups must be at least 1, got ", groups);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // products fit 64 bits
  require(groups <= most && of_kernel <= most, op, ": ", groups, " groups of ", of_kernel,
          " channels; at most ", most, " of each are possible");
  if (groups == 1)
    require(of_kernel == in, op, ": input has ", in, " channels but the kernel expects ",
            of_kernel);
  require(of_kernel * groups == in, op, ": input has ", in, " channels but the kernel expects ",
          of_kernel * groups, " (", of_kernel, " in each of ", groups, " groups)");
  require(out % groups == 0, op, ": ", out, " output channels cannot be divided into ", groups,
          " groups");
}

}  // namespace

bool ConvGeometry::is_product() const {
  auto reads_its_own = [](const WindowAxis& axis) {
    return axis.window == 1 && axis.stride == 1 && axis.before == 0 && axis.out == axis.in;
  };
  return groups == 1 && reads_its_own(depth) && reads_its_own(rows) && reads_its_own(columns);
}

std::vector<WindowAxis> ConvGeometry::axes() const {
  if (volume) return {depth, rows, columns};
  return {rows, columns};
}

Shape ConvGeometry::input() const {
  std::vector<std::int64_t> sizes{batch};
  for (const WindowAxis& axis : axes()) sizes.push_back(axis.in);
  return shape(sizes, {in_channels});
}

Shape ConvGeometry::kernel() const {
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& axis : axes()) sizes.push_back(axis.window);
  return shape(sizes, {in_per_group(), out_channels});
}

Shape ConvGeometry::output() const {
  std::vector<std::int64_t> sizes{batch};
  for (const WindowAxis& axis : axes()) sizes.push_back(axis.out);
  return shape(sizes, {out_channels});
}

ConvGeometry conv_geometry(std::string_view op, const Shape& x, const Shape& kernel,
                           const ConvWindow& window) {
  int axes = window.axes();
  std::size_t count = axes;
  require(x.rank() == axes + 2, op, ": input must be ", axes_text("n", "", axes, "c"), ", got ", x);
  require(kernel.rank() == axes + 2, op, ": kernel must be ",
          axes_text("", "k", axes, "in / groups, out"), ", got ", kernel);
  std::int64_t in = x[axes + 1], out = kernel[axes + 1];
  check_channels(op, in, kernel[axes], out, window.groups);
  require(in >= 1 && out >= 1, op, ": kernel ", kernel, " has no channels");
  auto [depth, rows, columns] = slide(op, x.sizes().subspan(1, count),
                                      {.size = kernel.sizes().first(count),
                                       .stride = window.stride,
                                       .dilation = window.dilation,
                                       .padding = window.padding});
  return {.volume = axes == 3,
          .batch = x[0],
          .depth = depth,
          .rows = rows,
          .columns = columns,
          .in_channels = in,
          .out_channels = out,
          .groups = window.groups};
}

ConvGeometry conv_geometry(const Node& node) {
  std::string_view op = node.op().name;
  const Shape &first = node.input(0).shape(), &second = node.input(1).shape(),
              &output = node.output().shape;
  if (node.is(conv2d_grad_input_op) || node.is(conv3d_grad_input_op))
    return conv_geometry(op, output, second, node.as<ConvGradInputOptions>().window);
  if (node.is(conv2d_grad_kernel_op) || node.is(conv3d_grad_kernel_op))
    return conv_geometry(op, first, output, node.as<ConvGradKernelOptions>().window);
  return conv_geometry(op, first, second, node.as<ConvOptions>().window);
}

}  // namespace belfry
