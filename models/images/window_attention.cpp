#include "belfry/models/images/window_attention.h"

#include <vector>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/models/require_multiple.h"

namespace belfry::models {
namespace {

// How many windows of how many pixels a side.
struct Grid {
  std::int64_t n, rows, columns, window;
  std::int64_t windows() const { return rows * columns; }
  std::int64_t pixels() const { return window * window; }
};

// [n, h, w, c] -> [n, windows, pixels, c].
Tensor into_windows(Tensor x, const Grid& g) {
  std::int64_t c = x.size(-1);
  x = reshape(x, {g.n, g.rows, g.window, g.columns, g.window, c});
  return reshape(transpose(x, {0, 1, 3, 2, 4, 5}), {g.n, g.windows(), g.pixels(), c});
}

Tensor from_windows(Tensor x, const Grid& g) {
  std::int64_t c = x.size(-1);
  x = reshape(x, {g.n, g.rows, g.columns, g.window, g.window, c});
  return reshape(transpose(x, {0, 1, 3, 2, 4, 5}),
                 {g.n, g.rows * g.window, g.columns * g.window, c});
}

// Which row of the table stands between each two pixels of a window: [pixels^2].
Array difference_numbers(std::int64_t window) {
  Array out(Shape{window * window * window * window}, DType::i64);
  auto number = out.span<std::int64_t>().begin();
  for (std::int64_t query = 0; query < window * window; ++query)
    for (std::int64_t key = 0; key < window * window; ++key) {
      std::int64_t rows = query / window - key / window, columns = query % window - key % window;
      *number++ = (rows + window - 1) * (2 * window - 1) + columns + window - 1;
    }
  return out;
}

// After the roll, the part of an axis that a place comes from: neighbours are in one part.
int part(std::int64_t position, std::int64_t size, const WindowAttentionOptions& o) {
  return position < size - o.window ? 0 : position < size - o.shift ? 1 : 2;
}

// Which pixels of a window may attend to each other: bool [windows, 1, pixels, pixels].
Array neighbours(const Grid& g, const WindowAttentionOptions& o) {
  Array out(Shape{g.windows(), 1, g.pixels(), g.pixels()}, DType::boolean);
  auto value = out.span<bool>().begin();
  auto part_of = [&](std::int64_t w, std::int64_t pixel) {
    std::int64_t row = w / g.columns * g.window + pixel / g.window;
    std::int64_t column = w % g.columns * g.window + pixel % g.window;
    return 3 * part(row, g.rows * g.window, o) + part(column, g.columns * g.window, o);
  };
  for (std::int64_t w = 0; w < g.windows(); ++w)
    for (std::int64_t query = 0; query < g.pixels(); ++query)
      for (std::int64_t key = 0; key < g.pixels(); ++key)
        *value++ = part_of(w, query) == part_of(w, key);
  return out;
}

// [heads, pixels, pixels].
Tensor position_bias(const Scope& s, const WindowAttentionOptions& o) {
  std::int64_t pixels = o.window * o.window, differences = (2 * o.window - 1) * (2 * o.window - 1);
  Tensor table = s.variable("bias_table", {.shape = layers::shape_at(s, {differences, o.heads}),
                                           .initializer = truncated_normal(0, 0.02)});
  Tensor bias = gather(table, constant(s, difference_numbers(o.window)));
  return transpose(reshape(bias, {pixels, pixels, o.heads}), {2, 0, 1});
}

Tensor roll_axis(Tensor x, int axis, std::int64_t shift) {
  std::int64_t size = x.size(axis), first = (shift % size + size) % size;
  if (first == 0) return x;
  std::vector<Tensor> parts = split(x, std::vector<std::int64_t>{first, size - first}, axis);
  return concat({parts[1], parts[0]}, axis);
}

}  // namespace

Tensor roll(Tensor x, std::int64_t shift) { return roll_axis(roll_axis(x, 1, shift), 2, shift); }

Tensor window_attention(const Scope& s, Tensor x, const WindowAttentionOptions& o) {
  at_scope(s.path(), [&] {
    require(x.rank() == 4, "window_attention: expected [n, h, w, c], got ", x.type());
    require(o.window >= 1 && o.shift >= 0 && o.shift < o.window, "window_attention: a shift of ",
            o.shift, " in windows of ", o.window, "; expected 0 to one less");
  });
  require_multiple(s, "window_attention", x, o.window, concat("windows of ", o.window, " need"));
  Grid g{x.size(0), x.size(1) / o.window, x.size(2) / o.window, o.window};
  x = into_windows(roll(x, o.shift), g);
  x = multi_head_attention(s, x, x, x,
                           {.heads = o.heads,
                            .mask = o.shift > 0 ? constant(s, neighbours(g, o)) : Tensor(),
                            .bias = position_bias(s, o),
                            .kernel_initializer = truncated_normal(0, 0.02)});
  return roll(from_windows(x, g), -o.shift);
}

}  // namespace belfry::models
