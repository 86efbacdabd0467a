#include "belfry/models/unet/unet_blocks.h"

namespace belfry::models {
namespace {

bool is_volume(const Tensor& x) { return x.rank() == 5; }

Tensor conv(const Scope& s, Tensor x, std::int64_t filters, bool bias) {
  if (is_volume(x))
    return conv3d(
        s, x,
        {.filters = filters, .kernel = 3, .use_bias = bias, .kernel_initializer = he_normal()});
  return conv2d(
      s, x, {.filters = filters, .kernel = 3, .use_bias = bias, .kernel_initializer = he_normal()});
}

Tensor grow(const Scope& s, Tensor x, std::int64_t filters) {
  if (is_volume(x))
    return conv3d_transpose(
        s, x, {.filters = filters, .kernel = 2, .stride = 2, .kernel_initializer = he_normal()});
  return conv2d_transpose(
      s, x, {.filters = filters, .kernel = 2, .stride = 2, .kernel_initializer = he_normal()});
}

}  // namespace

Tensor UnetBlocks::twice(const Scope& s, Tensor x, std::int64_t filters) const {
  for (int i = 1; i <= 2; ++i) {
    x = conv(s / concat("conv", i), x, filters, !norm_);
    if (norm_) x = batch_norm(s / concat("norm", i), x, *norm_);
    x = relu(x);
  }
  return x;
}

Tensor UnetBlocks::down(Tensor x) const { return is_volume(x) ? max_pool3d(x) : max_pool(x); }

Tensor UnetBlocks::up(const Scope& s, Tensor x, Tensor skip, std::int64_t filters) const {
  x = grow(s / "grow", x, filters);
  if (skip.defined()) x = concat({skip, x}, -1);
  return twice(s, x, filters);
}

Tensor UnetBlocks::head(const Scope& s, Tensor x, std::int64_t classes) const {
  if (is_volume(x)) return conv3d(s, x, {.filters = classes, .kernel = 1});
  return conv2d(s, x, {.filters = classes, .kernel = 1});
}

}  // namespace belfry::models
