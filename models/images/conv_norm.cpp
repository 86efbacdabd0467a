#include "belfry/models/images/conv_norm.h"

namespace belfry::models {
namespace {

Padding on_both_sides(Size2 kernel) {
  std::int64_t rows = kernel.rows / 2, columns = kernel.columns / 2;
  return Padding::explicit_amounts(rows, rows, columns, columns);
}

}  // namespace

Tensor ConvNorm::operator()(const Scope& s, Tensor x, const ConvNormOptions& o) const {
  x = conv2d(s / "conv", x,
             {.filters = o.filters,
              .kernel = o.kernel,
              .stride = o.stride,
              .padding = on_both_sides(o.kernel),
              .use_bias = false,
              .groups = o.groups,
              .kernel_initializer = he_normal()});
  return batch_norm(s / "norm", x, norm_);
}

Tensor ConvNorm::depthwise(const Scope& s, Tensor x, Size2 kernel, Size2 stride) const {
  x = depthwise_conv2d(s / "conv", x,
                       {.kernel = kernel,
                        .stride = stride,
                        .padding = on_both_sides(kernel),
                        .use_bias = false,
                        .kernel_initializer = he_normal()});
  return batch_norm(s / "norm", x, norm_);
}

}  // namespace belfry::models
