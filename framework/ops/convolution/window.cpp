#include "belfry/framework/ops/convolution/window.h"

#include <algorithm>
#include <limits>

#include "belfry/framework/base/fields.h"

namespace belfry {

std::string to_string(const Padding& padding) {
  switch (padding.kind) {
    case Padding::Kind::same:
      return "same";
    case Padding::Kind::valid:
      return "valid";
    case Padding::Kind::given:
      return "[" + join(std::span(padding.amounts).first(2 * padding.axes), ", ") + "]";
  }
  no_such_value(padding.kind);
}

namespace {

void pad_same(WindowAxis& a) {
  a.out = (a.in + a.stride - 1) / a.stride;
  std::int64_t total = std::max<std::int64_t>((a.out - 1) * a.stride + a.extent() - a.in, 0);
  a.before = total / 2;
  a.after = total - a.before;
}

void check_axes(std::string_view op, const Padding& padding, std::size_t axes) {
  require(padding.kind != Padding::Kind::given || padding.axes == static_cast<int>(axes), op,
          ": padding must be given in front of and behind each of ", axes, " axes, got ", padding);
}

// Sums and products of two such numbers fit 64 bits.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// `i` counts the window's axes, `what` names what stands along this one.
WindowAxis slide(std::string_view op, std::int64_t image, const Window& window, std::size_t i,
                 std::string_view what) {
  WindowAxis a{.in = image,
               .window = window.size[i],
               .stride = window.stride[i],
               .dilation = window.dilation.empty() ? 1 : window.dilation[i]};
  require(a.in >= 1, op, ": the image has ", a.in, " ", what, "; at least 1 is needed");
  if (window.padding.kind == Padding::Kind::same) {
    pad_same(a);
    return a;
  }
  if (window.padding.kind == Padding::Kind::given) {
    a.before = window.padding.amounts[2 * i];
    a.after = window.padding.amounts[2 * i + 1];
  }
  std::int64_t padded = a.before + a.in + a.after;
  require(a.extent() <= padded, op, ": a window over ", a.extent(), " ", what,
          " does not fit into ", padded, " (", a.in, " and padding ", a.before, " + ", a.after,
          ")");
  a.out = (padded - a.extent()) / a.stride + 1;
  return a;
}

}  // namespace

std::string_view axis_name(std::size_t axes, std::size_t i) {
  static constexpr std::array<std::string_view, 3> names{"slices", "rows", "columns"};
  return axes == 1 ? "samples" : names.at(names.size() - axes + i);
}

void check_window(std::string_view op, const Window& window) {
  std::size_t axes = window.size.size();
  check_axes(op, window.padding, axes);
  auto in_range = [&](std::span<const std::int64_t> values, std::string_view what) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      require(values[i] >= 1, op, ": ", what, " of ", axis_name(axes, i),
              " must be at least 1, got ", values[i]);
      require(values[i] <= most, op, ": ", what, " of ", axis_name(axes, i), " must be at most ",
              most, ", got ", values[i]);
    }
  };
  for (std::size_t i = 0; i < axes; ++i) {
    require(window.size[i] >= 1, op, ": the window has ", window.size[i], " ", axis_name(axes, i),
            "; at least 1 is needed");
    require(window.size[i] <= most, op, ": the window has ", window.size[i], " ",
            axis_name(axes, i), "; at most ", most, " are possible");
  }
  in_range(window.stride, "stride");
  in_range(window.dilation, "dilation");
  if (window.padding.kind != Padding::Kind::given) return;
  auto [least, largest] =
      std::minmax_element(window.padding.amounts.begin(), window.padding.amounts.end());
  require(*least >= 0, op, ": padding must be at least 0, got ", window.padding);
  require(*largest <= most, op, ": padding must be at most ", most, ", got ", window.padding);
}

WindowAxes slide(std::string_view op, std::span<const std::int64_t> image, const Window& window) {
  WindowAxes all;
  std::size_t axes = image.size(), missing = all.size() - axes;
  ensure(axes >= 1 && axes <= 3 && window.size.size() == axes && window.stride.size() == axes, op,
         ": a window of another number of axes than the image");
  check_window(op, window);
  all.fill({.in = 1, .out = 1});
  for (std::size_t i = 0; i < axes; ++i)
    all[missing + i] = slide(op, image[i], window, i, axis_name(axes, i));
  return all;
}

Padding image_padding(std::string_view op, const Padding& padding, int axes, int rows,
                      int columns) {
  if (padding.kind != Padding::Kind::given) return padding;
  check_axes(op, padding, axes);
  auto amount = [&](int axis, int side) { return axis < 0 ? 0 : padding.amounts[2 * axis + side]; };
  return Padding::explicit_amounts(amount(rows, 0), amount(rows, 1), amount(columns, 0),
                                   amount(columns, 1));
}

}  // namespace belfry
