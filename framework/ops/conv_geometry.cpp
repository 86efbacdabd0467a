#include "belfry/framework/ops/conv_geometry.h"

namespace belfry {

ConvGeometry conv_geometry(std::string_view op, const Shape& x, const Shape& kernel,
                           const Conv2dOptions& options) {
  require(x.rank() == 4, op, ": input must be [n, h, w, c], got ", x);
  require(kernel.rank() == 4, op, ": kernel must be [kh, kw, in / groups, out], got ", kernel);
  std::int64_t groups = options.groups, in = x[3], out = kernel[3];
  require(groups >= 1, op, ": groups must be at least 1, got ", groups);
  if (groups == 1)
    require(kernel[2] == in, op, ": input has ", in, " channels but the kernel expects ",
            kernel[2]);
  require(kernel[2] * groups == in, op, ": input has ", in, " channels but the kernel expects ",
          kernel[2] * groups, " (", kernel[2], " in each of ", groups, " groups)");
  require(in >= 1 && out >= 1, op, ": kernel ", kernel, " has no channels");
  require(out % groups == 0, op, ": ", out, " output channels cannot be divided into ", groups,
          " groups");
  auto [rows, columns] = slide(op, {x[1], x[2]},
                               {.size = {kernel[0], kernel[1]},
                                .stride = options.stride,
                                .dilation = options.dilation,
                                .padding = options.padding});
  return {.batch = x[0],
          .rows = rows,
          .columns = columns,
          .in_channels = in,
          .out_channels = out,
          .groups = groups};
}

}  // namespace belfry
