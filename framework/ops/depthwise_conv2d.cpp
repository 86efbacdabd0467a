#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor depthwise_conv2d(Tensor x, Tensor kernel, Conv2dOptions options) {
  constexpr std::string_view name = "depthwise_conv2d";
  require_defined(name, {x, kernel});
  check_at(x, [&] {
    require_rank(name, "input", x.type(), 4, "[n, h, w, c]");
    require_rank(name, "kernel", kernel.type(), 4, "[kh, kw, c, multiplier]");
    require(x.size(3) == kernel.size(2), name, ": input has ", x.size(3),
            " channels but the kernel expects ", kernel.size(2));
  });
  std::int64_t channels = x.size(3);
  options.groups = channels;
  const Shape& k = kernel.shape();
  return conv2d(x, reshape(kernel, Shape{k[0], k[1], 1, channels * k[3]}), options);
}

}  // namespace belfry
