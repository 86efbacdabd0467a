// Convolutions, pools, resizing.

#include <algorithm>
#include <array>

#include "belfry/framework/layers/layers.h"
#include "random_builder.h"

namespace belfry::random_models {
namespace {

// A window along one axis of the image: the options that convolutions have in common.
struct Window {
  std::int64_t kernel, stride, dilation;
  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

Window draw_window(Builder& model, std::int64_t size) {
  Window w{.kernel = model.between(1, model.chance(0.2f) ? 5 : 3), .stride = 1, .dilation = 1};
  if (model.chance(0.3f)) w.stride = model.between(2, 3);
  if (model.chance(0.2f)) w.dilation = 2;
  if (w.extent() > size)
    w = {.kernel = std::min<std::int64_t>(size, 3), .stride = w.stride, .dilation = 1};
  return w;
}

Padding draw_padding(Builder& model, int axes) {
  if (model.chance(0.4f)) return same_padding;
  if (model.chance(0.5f)) return valid_padding;
  std::int64_t a = model.below(2), b = model.below(2), c = model.below(2), d = model.below(2);
  if (axes == 1) return Padding::explicit_amounts(a, b);
  if (axes == 2) return Padding::explicit_amounts(a, b, c, d);
  return Padding::explicit_amounts(a, b, c, d, b, a);
}

// Filters and groups that go with so many channels.
std::pair<std::int64_t, std::int64_t> draw_filters(Builder& model, std::int64_t channels) {
  std::int64_t filters = model.draw_size();
  if (model.chance(0.6f)) return {filters, 1};
  std::int64_t groups = model.divisor_of(channels);
  return {groups * model.between(1, 3), groups};
}

// An activation or a residual: what is fused with the product in front of it.
bool add_activated(Builder& model, Tensor y, double size) {
  if (model.chance(0.2f)) y = model.biased(y), size += 1;
  if (model.chance(0.2f)) y = y + model.pick_beside(y).tensor, size += 2;
  if (y.rank() > 5 || !model.small(model.extent(y.shape()))) return false;
  if (model.chance(0.4f)) y = relu(y);
  return model.add(y, size);
}

bool draw_conv1d(Builder& model) {
  Value x = model.pick(3);
  Window w = draw_window(model, x.tensor.size(1));
  auto [filters, groups] = draw_filters(model, x.tensor.size(2));
  if (!model.small(x.tensor.size(1) * w.stride * filters)) return false;
  bool bias = model.chance(0.7f);
  Scope s = model.next("conv1d");
  if (model.chance(0.3f))
    return add_activated(model,
                         conv1d_transpose(s, x.tensor,
                                          {.filters = filters,
                                           .kernel = w.kernel,
                                           .stride = w.stride,
                                           .use_bias = bias,
                                           .dilation = w.dilation,
                                           .groups = groups}),
                         3 * x.size);
  return add_activated(model,
                       conv1d(s, x.tensor,
                              {.filters = filters,
                               .kernel = w.kernel,
                               .stride = w.stride,
                               .padding = draw_padding(model, 1),
                               .use_bias = bias,
                               .dilation = w.dilation,
                               .groups = groups}),
                       3 * x.size);
}

bool draw_conv2d(Builder& model) {
  Value x = model.pick(4);
  Window h = draw_window(model, x.tensor.size(1)), w = draw_window(model, x.tensor.size(2));
  auto [filters, groups] = draw_filters(model, x.tensor.size(3));
  if (!model.small(x.tensor.size(1) * x.tensor.size(2) * filters)) return false;
  return add_activated(model,
                       conv2d(model.next("conv2d"), x.tensor,
                              {.filters = filters,
                               .kernel = {h.kernel, w.kernel},
                               .stride = {h.stride, w.stride},
                               .padding = draw_padding(model, 2),
                               .use_bias = model.chance(0.7f),
                               .dilation = {h.dilation, w.dilation},
                               .groups = groups}),
                       3 * x.size);
}

bool draw_conv2d_transpose(Builder& model) {
  Value x = model.pick(4);
  Window h = draw_window(model, x.tensor.size(1)), w = draw_window(model, x.tensor.size(2));
  auto [filters, groups] = draw_filters(model, x.tensor.size(3));
  if (!model.small(x.tensor.size(1) * h.stride * x.tensor.size(2) * w.stride * filters))
    return false;
  return add_activated(
      model,
      conv2d_transpose(model.next("conv2d_transpose"), x.tensor,
                       {.filters = filters,
                        .kernel = {h.kernel, w.kernel},
                        .stride = {h.stride, w.stride},
                        .padding = model.chance(0.7f) ? same_padding : valid_padding,
                        .use_bias = model.chance(0.7f),
                        .dilation = {h.dilation, w.dilation},
                        .groups = groups}),
      3 * x.size);
}

bool draw_depthwise(Builder& model) {
  Value x = model.pick(4);
  Window h = draw_window(model, x.tensor.size(1)), w = draw_window(model, x.tensor.size(2));
  std::int64_t multiplier = model.between(1, 2);
  if (!model.small(model.extent(x.tensor.shape()) * multiplier)) return false;
  return add_activated(model,
                       depthwise_conv2d(model.next("depthwise"), x.tensor,
                                        {.kernel = {h.kernel, w.kernel},
                                         .stride = {h.stride, w.stride},
                                         .padding = draw_padding(model, 2),
                                         .use_bias = model.chance(0.7f),
                                         .multiplier = multiplier,
                                         .dilation = {h.dilation, w.dilation}}),
                       3 * x.size);
}

bool draw_conv3d(Builder& model) {
  Value x = model.pick(5);
  Window d = draw_window(model, x.tensor.size(1)), h = draw_window(model, x.tensor.size(2)),
         w = draw_window(model, x.tensor.size(3));
  auto [filters, groups] = draw_filters(model, x.tensor.size(4));
  bool transposed = model.chance(0.3f);
  std::int64_t grows = transposed ? d.stride * h.stride * w.stride : 1;
  if (!model.small(model.extent(x.tensor.shape()) / x.tensor.size(4) * filters * grows))
    return false;
  if (transposed)
    return add_activated(model,
                         conv3d_transpose(model.next("conv3d_transpose"), x.tensor,
                                          {.filters = filters,
                                           .kernel = {d.kernel, h.kernel, w.kernel},
                                           .stride = {d.stride, h.stride, w.stride},
                                           .groups = groups}),
                         3 * x.size);
  return add_activated(model,
                       conv3d(model.next("conv3d"), x.tensor,
                              {.filters = filters,
                               .kernel = {d.kernel, h.kernel, w.kernel},
                               .stride = {d.stride, h.stride, w.stride},
                               .padding = draw_padding(model, 3),
                               .use_bias = model.chance(0.7f),
                               .dilation = {d.dilation, h.dilation, w.dilation},
                               .groups = groups}),
                       3 * x.size);
}

// The convolution of a concat of channels.
bool draw_conv_of_parts(Builder& model) {
  Value a = model.pick(4);
  Tensor b = tanh(a.tensor);
  if (!model.small(2 * model.extent(a.tensor.shape()))) return false;
  return add_activated(
      model,
      conv2d(model.next("conv_of_parts"), concat({a.tensor, b, a.tensor}, -1),
             {.filters = model.draw_size() / 2 + 1, .kernel = model.between(1, 3)}),
      3 * a.size);
}

bool draw_pool(Builder& model) {
  int axes = static_cast<int>(model.between(1, 3));
  Value x = model.pick(axes + 2);
  std::vector<std::int64_t> window, stride;
  for (int axis = 1; axis <= axes; ++axis) {
    window.push_back(model.between(1, std::min<std::int64_t>(3, x.tensor.size(axis))));
    stride.push_back(model.between(1, 3));
  }
  Padding padding = model.chance(0.5f) ? same_padding : valid_padding;
  bool most = model.chance(0.5f);
  if (axes == 1) {
    Pool1dOptions options{.window = window[0], .stride = stride[0], .padding = padding};
    return model.add(most ? max_pool1d(x.tensor, options) : avg_pool1d(x.tensor, options), x.size);
  }
  if (axes == 2) {
    Pool2dOptions options{
        .window = {window[0], window[1]}, .stride = {stride[0], stride[1]}, .padding = padding};
    return model.add(most ? max_pool(x.tensor, options) : avg_pool(x.tensor, options), x.size);
  }
  Pool3dOptions options{.window = {window[0], window[1], window[2]},
                        .stride = {stride[0], stride[1], stride[2]},
                        .padding = padding};
  return model.add(most ? max_pool3d(x.tensor, options) : avg_pool3d(x.tensor, options), x.size);
}

bool draw_global_pool(Builder& model) {
  Value x = model.pick(static_cast<int>(model.between(3, 5)));
  return model.add(model.chance(0.6f) ? global_avg_pool(x.tensor) : global_max_pool(x.tensor),
                   x.size);
}

bool draw_resize(Builder& model) {
  Value x = model.pick(4);
  ResizeOptions options{.size = {model.between(1, 8), model.between(1, 8)},
                        .align_corners = model.chance(0.4f)};
  if (!model.small(options.size[0] * options.size[1] * x.tensor.size(3))) return false;
  return model.add(
      model.chance(0.5f) ? resize_nearest(x.tensor, options) : resize_bilinear(x.tensor, options),
      x.size);
}

constexpr std::array<Draw, 11> draws = {draw_conv1d,           draw_conv2d, draw_conv2d,
                                        draw_conv2d_transpose, draw_conv3d, draw_conv_of_parts,
                                        draw_depthwise,        draw_pool,   draw_pool,
                                        draw_global_pool,      draw_resize};

}  // namespace

std::span<const Draw> image_draws() { return draws; }

}  // namespace belfry::random_models
