#include "belfry/framework/backend/cpu/winograd/winograd_geometry.h"

#include <algorithm>

#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_convert.h"

namespace belfry::cpu {
namespace {

/// Taps of the first phase; others may have one less.
std::int64_t taps_of(const WindowAxis& axis) { return ceil_div(axis.window, axis.stride); }

WinogradAxis forward_axis(const WindowAxis& axis) {
  return {.results = axis.out,
          .read = {.size = axis.in, .first = -axis.before, .step = axis.stride},
          .written = {.size = axis.out}};
}

/// Pixel j of the input is read by tap s t + phase of window i - t, with s i + phase = j + before.
WinogradAxis input_axis(const WindowAxis& axis, std::int64_t phase) {
  std::int64_t first = ceil_div(std::max<std::int64_t>(axis.before - phase, 0), axis.stride);
  std::int64_t pixel = axis.stride * first + phase - axis.before;
  return {.results = ceil_div(std::max<std::int64_t>(axis.in - pixel, 0), axis.stride),
          .read = {.size = axis.out, .first = first - (taps_of(axis) - 1)},
          .written = {.size = axis.in, .first = pixel, .step = axis.stride}};
}

/// Where the gradient with respect to the input is a convolution itself.
WindowAxis reversed(const WindowAxis& axis) {
  WindowAxis out = axis;
  std::swap(out.in, out.out);
  out.before = axis.window - 1 - axis.before;
  out.after = axis.window - 1 - axis.after;
  return out;
}

bool applies(const ConvGeometry& g) {
  bool depth =
      (g.depth.window == 1 || g.depth.window == 3) && g.depth.stride == 1 && g.depth.dilation == 1;
  bool square = g.rows.window == g.columns.window, line = g.rows.window == 1;
  // Larger ones that move by two have not been measured.
  bool window = g.rows.dilation == 1 && g.columns.dilation == 1 && g.rows.stride == g.columns.stride
                && g.rows.stride <= (line ? 1 : 2) && g.columns.window >= g.rows.stride
                && g.columns.window <= 4 + g.rows.stride
                && WinogradLoops::has(taps_of(g.rows), taps_of(g.columns));
  bool channels = g.in_channels > 0 && g.in_channels % winograd_channels == 0 && g.out_channels > 0
                  && g.out_channels % winograd_channels == 0;
  return g.groups == 1 && depth && (square || line) && window && channels;
}

WinogradGeometry make(const ConvGeometry& g, bool turned) {
  WinogradGeometry out{.in = g.in_channels,
                       .out = g.out_channels,
                       .depth = g.depth,
                       .row_taps = taps_of(g.rows),
                       .column_taps = taps_of(g.columns),
                       .stride = g.rows.stride};
  const auto& tile = simd().winograd.of<float>(out.row_taps, out.column_taps);
  if (!turned) {
    out.grids.emplace_back(g.batch, forward_axis(g.rows), forward_axis(g.columns), tile.rows,
                           tile.columns);
    return out;
  }
  std::swap(out.in, out.out);
  out.depth = reversed(g.depth);
  for (std::int64_t p = 0; p < out.stride; ++p)
    for (std::int64_t q = 0; q < out.stride; ++q)
      out.grids.emplace_back(g.batch, input_axis(g.rows, p), input_axis(g.columns, q), tile.rows,
                             tile.columns);
  return out;
}

/// At most 3/5 of the direct method's products, or a quarter where that makes two of bf16 for one
/// of f32; more saved than the kernel's transform costs; enough tiles for each thread, at least
/// half of them inside.
bool pays(const ConvGeometry& g, const WinogradGeometry& w, bool direct_makes_two, int threads) {
  constexpr std::int64_t products_of_a_point = 48;  // of one pair of channels, in time
  const auto& tile = simd().winograd.of<float>(w.row_taps, w.column_taps);
  std::int64_t results = tile.rows * tile.columns, products = w.phases() * tile.points;
  std::int64_t taps = g.rows.window * g.columns.window, saved = taps * results - products;
  return 3 * saved >= 2 * products
         && std::all_of(w.grids.begin(), w.grids.end(), [&](const WinogradTiles& tiles) {
              std::int64_t count = tiles.count();
              if (direct_makes_two && taps * tiles.results() < 4 * products * count) return false;
              return count * w.depth.out * saved >= products_of_a_point * products
                     && count >= 2 * threads && 2 * tiles.results() >= results * count;
            });
}

}  // namespace

WinogradTiles::WinogradTiles(std::int64_t batch, const WinogradAxis& rows,
                             const WinogradAxis& columns, std::int64_t tile_rows,
                             std::int64_t tile_columns)
    : rows_(rows),
      columns_(columns),
      batch_(batch),
      tile_rows_(tile_rows),
      tile_columns_(tile_columns),
      down_(ceil_div(rows.results, tile_rows)),
      across_(ceil_div(columns.results, tile_columns)) {}

WinogradTile WinogradTiles::read(std::int64_t tile, std::int64_t row_phase,
                                 std::int64_t column_phase) const {
  const PixelSteps &r = rows_.read, &c = columns_.read;
  return {.row = r.first + row(tile) * r.step + row_phase,
          .column = c.first + column(tile) * c.step + column_phase,
          .rows = r.size,
          .columns = c.size,
          .step = r.step};
}

WinogradTile WinogradTiles::written(std::int64_t tile) const {
  const PixelSteps &r = rows_.written, &c = columns_.written;
  return {.row = r.first + row(tile) * r.step,
          .column = c.first + column(tile) * c.step,
          .rows = r.size,
          .columns = c.size,
          .step = r.step};
}

std::int64_t WinogradGeometry::tiles() const {
  std::int64_t most = 0;
  for (const WinogradTiles& grid : grids) most = std::max(most, grid.count());
  return most;
}

std::int64_t WinogradGeometry::first_plane(std::int64_t z) const {
  return std::max<std::int64_t>(z - depth.before, 0);
}
std::int64_t WinogradGeometry::end_plane(std::int64_t z) const {
  return std::min(z - depth.before + depth.window, depth.in);
}

std::optional<WinogradGeometry> winograd_geometry(const Node& node, WinogradDirection direction,
                                                  const KernelOptions& options,
                                                  bool bf16_instructions) {
  DType dtype = node.output().dtype;
  ConvGeometry g = conv_geometry(node);
  if (options.exact_convolutions || !has_loops(dtype) || !applies(g)) return std::nullopt;
  WinogradGeometry out = make(g, direction == WinogradDirection::grad_input);
  // Its gradients of kernels are slower than its other products.
  bool direct_makes_two =
      dtype == DType::bf16 && bf16_instructions && direction != WinogradDirection::grad_kernel;
  if (!pays(g, out, direct_makes_two, options.threads)) return std::nullopt;
  return out;
}

WinogradTaps winograd_taps(const ConvGeometry& g, std::int64_t phase) {
  std::int64_t stride = g.rows.stride;
  return {phase / stride, phase % stride, g.rows.window, g.columns.window, stride};
}

std::int64_t tiles_of_block(std::int64_t tiles, std::int64_t most, int threads) {
  std::int64_t blocks = ceil_div(ceil_div(tiles, most), threads) * threads;
  return ceil_div(tiles, blocks);
}

}  // namespace belfry::cpu
