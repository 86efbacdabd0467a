// Convolutions, pools and resizing: with channels first.

#include <algorithm>

#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::onnx {
namespace {

using Sizes = std::vector<std::int64_t>;

// The sizes of the axes between rows and channels.
Sizes space(Converter& c, const saved::Type& type) {
  Sizes sizes;
  for (std::size_t i = 1; i + 1 < type.sizes.size(); ++i) {
    if (type.sizes[i].follows_batch()) c.unsupported("the size of an image follows the batch");
    sizes.push_back(type.sizes[i].fixed);
  }
  return sizes;
}

// Amounts in front of all axes, then behind them. `image` has windows of `extent` elements at each
// stride, `count` of them.
Sizes pads(Converter& c, const Sizes& image, const Sizes& extent, const Sizes& stride,
           const Sizes& count) {
  const std::string& words = c.words("padding");
  std::size_t axes = image.size();
  Sizes amounts(2 * axes, 0);
  if (words == "valid") return amounts;
  if (words == "same") {
    for (std::size_t i = 0; i < axes; ++i) {
      std::int64_t total =
          std::max<std::int64_t>((count[i] - 1) * stride[i] + extent[i] - image[i], 0);
      amounts[i] = total / 2;
      amounts[axes + i] = total - total / 2;
    }
    return amounts;
  }
  // "[1, 1, 2, 2]": in front of and behind each axis.
  saved::Type given = saved::type_from_string("i64" + words);
  for (std::size_t i = 0; i < axes; ++i) {
    amounts[i] = given.sizes.at(2 * i).fixed;
    amounts[axes + i] = given.sizes.at(2 * i + 1).fixed;
  }
  return amounts;
}

// A kernel [window, a, b] as ONNX wants it, [b, a, window], times the factors of the channels that
// come out: b or, of a transposed convolution, a of each group.
std::string kernel(Converter& c, const Converter::Affine& affine, bool transposed) {
  int rank = c.rank(1);
  Sizes order{rank - 1, rank - 2};
  for (int axis = 0; axis < rank - 2; ++axis) order.push_back(axis);
  const Array* known = c.constant_input(1);
  if (!known) return c.transposed(c.input(1), order);
  if (!affine.has_factor) return c.constant(permute(*known, order), "kernel");
  Array scaled = known->clone();
  std::int64_t a = scaled.shape()[rank - 2], b = scaled.shape()[rank - 1];
  std::int64_t per_group = b / c.whole("groups"), i = 0;
  for (float& value : scaled.span<float>()) {
    std::int64_t channel = transposed ? (i % b) / per_group * a + (i / b) % a : i % b;
    value = static_cast<float>(double{value} * affine.factor[channel]);
    ++i;
  }
  return c.constant(permute(scaled, order), "kernel");
}

// (image, kernel) or (image, kernel, bias), with the factors and terms that follow in them.
std::vector<std::string> operands(Converter& c, bool transposed) {
  Converter::Affine affine;
  if (c.constant_input(1) && c.type(1).dtype == DType::f32)
    affine = c.affine_behind(c.node().outputs[0].sizes.back().fixed);
  c.fold(affine);
  std::vector<std::string> inputs{c.channels_first(0), kernel(c, affine, transposed)};
  if (affine.has_term) inputs.push_back(c.bias(affine));
  return inputs;
}

struct ConvShape {
  Sizes window, extent, stride, dilation;
};

ConvShape conv_shape(Converter& c) {
  ConvShape shape{{}, {}, c.wholes("stride"), c.wholes("dilation")};
  for (std::size_t i = 0; i < shape.stride.size(); ++i) {
    shape.window.push_back(c.type(1).sizes[i].fixed);
    shape.extent.push_back((shape.window[i] - 1) * shape.dilation[i] + 1);
  }
  return shape;
}

Attributes attributes(Converter& c, const ConvShape& shape, const Sizes& amounts) {
  return {{"kernel_shape", shape.window},
          {"strides", shape.stride},
          {"dilations", shape.dilation},
          {"group", c.whole("groups")},
          {"pads", amounts}};
}

void conv(Converter& c) {
  ConvShape shape = conv_shape(c);
  Sizes amounts =
      pads(c, space(c, c.type(0)), shape.extent, shape.stride, space(c, c.node().outputs[0]));
  Attributes with = attributes(c, shape, amounts);
  c.give_channels_first(c.add("Conv", operands(c, false), with));
}

// (dy, kernel): dy has the channels that are the kernel's last.
void conv_transpose(Converter& c) {
  ConvShape shape = conv_shape(c);
  Sizes small = space(c, c.type(0)), large = space(c, c.node().outputs[0]);
  Sizes amounts = pads(c, large, shape.extent, shape.stride, small), more;
  std::size_t axes = small.size();
  for (std::size_t i = 0; i < axes; ++i)
    more.push_back(
        large[i]
        - ((small[i] - 1) * shape.stride[i] + shape.extent[i] - amounts[i] - amounts[axes + i]));
  Attributes with = attributes(c, shape, amounts);
  with.emplace_back("output_padding", more);
  c.give_channels_first(c.add("ConvTranspose", operands(c, true), with));
}

void pool(Converter& c) {
  bool max = c.node().op == "max_pool";
  if (max && c.is_used(1)) c.unsupported("the places of its maxima are read");
  Sizes window = c.wholes("window"), stride = c.wholes("stride");
  Sizes amounts = pads(c, space(c, c.type(0)), window, stride, space(c, c.node().outputs[0]));
  c.give_channels_first(c.add(max ? "MaxPool" : "AveragePool", {c.channels_first(0)},
                              {{"kernel_shape", window}, {"strides", stride}, {"pads", amounts}}));
}

void resize(Converter& c) {
  const auto& out = c.node().outputs[0].sizes;
  std::string sizes = c.sizes({out[0], out[3], out[1], out[2]});
  bool nearest = c.node().op == "resize_nearest";
  Attributes with{{"mode", std::string(nearest ? "nearest" : "linear")},
                  {"coordinate_transformation_mode",
                   std::string(c.flag("align_corners") ? "align_corners" : "half_pixel")}};
  if (nearest) with.emplace_back("nearest_mode", std::string("round_prefer_ceil"));
  c.give_channels_first(c.add("Resize", {c.channels_first(0), "", "", sizes}, with));
}

}  // namespace

Conversions image_conversions() {
  return {{"conv2d", conv},
          {"conv3d", conv},
          {"conv2d_grad_input", conv_transpose},
          {"conv3d_grad_input", conv_transpose},
          {"max_pool", pool},
          {"avg_pool", pool},
          {"resize_nearest", resize},
          {"resize_bilinear", resize}};
}

}  // namespace belfry::onnx
