#pragma once
// Signals as images of one row: what the ops over one axis are made of.

#include "belfry/framework/ops/convolution/window.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {

inline Tensor as_image(const Tensor& x) {  // [n, w, c] -> [n, 1, w, c]
  return reshape(x, Shape{x.size(0), 1, x.size(1), x.size(2)});
}
inline Tensor as_signal(const Tensor& y) {  // [n, 1, w, c] -> [n, w, c]
  return reshape(y, Shape{y.size(0), y.size(2), y.size(3)});
}
inline Tensor as_image_kernel(const Tensor& kernel) {  // [kw, in, out] -> [1, kw, in, out]
  return reshape(kernel, Shape{1, kernel.size(0), kernel.size(1), kernel.size(2)});
}

/// Options for the image.
inline Conv2dOptions image_options(std::string_view op, const Conv1dOptions& o) {
  return {.stride = {1, o.stride},
          .dilation = {1, o.dilation},
          .groups = o.groups,
          .padding = image_padding(op, o.padding, 1, -1, 0)};
}
inline Pool2dOptions image_options(std::string_view op, const Pool1dOptions& o) {
  return {.window = {1, o.window},
          .stride = {1, o.stride},
          .padding = image_padding(op, o.padding, 1, -1, 0)};
}

}  // namespace belfry
