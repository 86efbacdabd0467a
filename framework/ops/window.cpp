#include "belfry/framework/ops/window.h"

#include <algorithm>

namespace belfry {

std::string to_string(const Padding& padding) {
  switch (padding.kind) {
    case Padding::Kind::same:
      return "same";
    case Padding::Kind::valid:
      return "valid";
    case Padding::Kind::given:
      return "[" + join(padding.amounts, ", ") + "]";
  }
  fail("internal error in Belfry: unknown padding");
}

namespace {

void pad_same(WindowAxis& a) {
  a.out = (a.in + a.stride - 1) / a.stride;
  std::int64_t total = std::max<std::int64_t>((a.out - 1) * a.stride + a.extent() - a.in, 0);
  a.before = total / 2;
  a.after = total - a.before;
}

WindowAxis slide(std::string_view op, std::int64_t image, const Window& window, int axis) {
  auto i = static_cast<std::size_t>(axis);
  std::string_view what = axis == 0 ? "rows" : "columns";
  WindowAxis a{.in = image,
               .window = window.size[i],
               .stride = window.stride[i],
               .dilation = window.dilation[i]};
  require(a.in >= 1, op, ": the image has ", a.in, " ", what, "; at least 1 is needed");
  require(a.window >= 1, op, ": the window has ", a.window, " ", what, "; at least 1 is needed");
  require(a.stride >= 1, op, ": stride of ", what, " must be at least 1, got ", a.stride);
  require(a.dilation >= 1, op, ": dilation of ", what, " must be at least 1, got ", a.dilation);
  if (window.padding.kind == Padding::Kind::same) {
    pad_same(a);
    return a;
  }
  if (window.padding.kind == Padding::Kind::given) {
    a.before = window.padding.amounts[2 * i];
    a.after = window.padding.amounts[2 * i + 1];
    require(a.before >= 0 && a.after >= 0, op, ": padding must be at least 0, got ",
            window.padding);
  }
  std::int64_t padded = a.before + a.in + a.after;
  require(a.extent() <= padded, op, ": a window over ", a.extent(), " ", what,
          " does not fit into ", padded, " (", a.in, " and padding ", a.before, " + ", a.after,
          ")");
  a.out = (padded - a.extent()) / a.stride + 1;
  return a;
}

}  // namespace

WindowAxes slide(std::string_view op, std::array<std::int64_t, 2> image, const Window& window) {
  return {slide(op, image[0], window, 0), slide(op, image[1], window, 1)};
}

}  // namespace belfry
