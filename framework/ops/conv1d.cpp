#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/one_row.h"

namespace belfry {

Tensor conv1d(Tensor x, Tensor kernel, Conv1dOptions options) {
  constexpr std::string_view name = "conv1d";
  require_defined(name, {x, kernel});
  Conv2dOptions of_image;
  check_at(x, [&] {
    require_input(name, x.type(), 1);
    require_rank(name, "kernel", kernel.type(), 3, "[kw, in / groups, out]");
    slide(name, x.shape().sizes().subspan(1, 1),
          {.size = kernel.shape().sizes().first(1),
           .stride = {&options.stride, 1},
           .dilation = {&options.dilation, 1},
           .padding = options.padding});
    of_image = image_options(name, options);
    conv_geometry(name, {x.size(0), 1, x.size(1), x.size(2)},
                  {1, kernel.size(0), kernel.size(1), kernel.size(2)}, of_image);
  });
  return as_signal(conv2d(as_image(x), as_image_kernel(kernel), of_image));
}

}  // namespace belfry
