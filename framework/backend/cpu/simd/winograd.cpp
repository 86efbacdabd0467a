// The transforms of Winograd's convolution along both axes, on vectors of channels.

#include "belfry/framework/backend/cpu/simd/winograd.h"

#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/winograd_points.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// Both axes: `columns` are read by column, and rows of the result go to out[row][column].
template <auto transform, int From, int To>
BELFRY_INLINE void both_axes(const Vec (&columns)[From][From], Vec (&out)[To][To]) {
  Vec half[From][To];
  for (int q = 0; q < From; ++q) transform(columns[q], half[q]);
  for (int p = 0; p < To; ++p) {
    Vec row[From];
    for (int q = 0; q < From; ++q) row[q] = half[q][p];
    transform(row, out[p]);
  }
}

template <int Size>
BELFRY_INLINE void load_tile(const float* image, const WinogradTile& tile, std::int64_t c,
                             std::int64_t j, Vec (&columns)[Size][Size]) {
  const float* corner = image + (tile.row * tile.columns + tile.column) * c + j;
  std::int64_t far = (Size - 1) * tile.step;
  bool whole = tile.row >= 0 && tile.column >= 0 && tile.row + far < tile.rows
               && tile.column + far < tile.columns;
  for (int q = 0; q < Size; ++q)
    for (int p = 0; p < Size; ++p) {
      std::int64_t r = tile.row + p * tile.step, s = tile.column + q * tile.step;
      bool inside = whole || (r >= 0 && r < tile.rows && s >= 0 && s < tile.columns);
      columns[q][p] = inside ? load(corner + (p * tile.columns + q) * tile.step * c) : Vec{};
    }
}

/// Where the points of the column j of a row lie.
BELFRY_INLINE float* column_of(const WinogradMatrix& m, std::int64_t j) {
  return m.data + j / panel * m.panel + j % panel;
}
template <int Size>
BELFRY_INLINE void load_points(const float* from, std::int64_t stride, Vec (&columns)[Size][Size]) {
  for (int q = 0; q < Size; ++q)
    for (int p = 0; p < Size; ++p) columns[q][p] = load(from + (p * Size + q) * stride);
}
template <int Size>
BELFRY_INLINE void store_points(const Vec (&points)[Size][Size], float* to, std::int64_t stride) {
  for (int i = 0; i < Size * Size; ++i) store(to + i * stride, points[i / Size][i % Size]);
}

/// The c k numbers of tap (p, q), and whether the window has it; if not, those of its first tap.
struct Tap {
  BELFRY_INLINE Tap(const WinogradTaps& taps, int p, int q, std::int64_t numbers) {
    std::int64_t row = taps.row + p * taps.step, column = taps.column + q * taps.step;
    inside = row < taps.window && column < taps.window;
    offset = inside * (row * taps.window + column) * numbers;
  }
  std::int64_t offset;
  bool inside;
};

/// 0 outside; without a branch, which would part products from their sums, and the two are rounded
/// as one.
BELFRY_INLINE Vec load_tap(const float* g, const Tap& tap) {
  using Bits [[gnu::vector_size(sizeof(Vec))]] = std::int32_t;
  Bits mask = Bits{} - std::int32_t{tap.inside};
  return (Vec)((Bits)load(g + tap.offset) & mask);
}

/// WinogradTransforms of Taps taps.
template <class Points, int Taps>
struct Transforms {
  static constexpr int size = Points::size, results = size + 1 - Taps;

  static void input(const float* x, const WinogradTile& tile, std::int64_t c,
                    const WinogradMatrix& v) {
    for (std::int64_t j = 0; j < c; j += width) {
      Vec pixels[size][size], points[size][size];
      load_tile(x, tile, c, j, pixels);
      both_axes<Points::input>(pixels, points);
      store_points(points, column_of(v, j), v.stride);
    }
  }

  static void output_gradient(const float* dy, const WinogradTile& tile, std::int64_t k,
                              const WinogradMatrix& m) {
    for (std::int64_t j = 0; j < k; j += width) {
      Vec pixels[results][results], points[size][size];
      load_tile(dy, tile, k, j, pixels);
      both_axes<evaluate<Points, false, results>>(pixels, points);
      store_points(points, column_of(m, j), m.stride);
    }
  }

  static void output(const WinogradMatrix& m, const float* bias, bool relu,
                     const WinogradTile& tile, std::int64_t k, float* y) {
    std::int64_t step = tile.step;
    std::int64_t rows = least<std::int64_t>(results, (tile.rows - tile.row + step - 1) / step),
                 columns =
                     least<std::int64_t>(results, (tile.columns - tile.column + step - 1) / step);
    float* corner = y + (tile.row * tile.columns + tile.column) * k;
    for (std::int64_t j = 0; j < k; j += width) {
      Vec points[size][size], values[results][results];
      load_points(column_of(m, j), m.stride, points);
      both_axes<transposed<Points, false, results>>(points, values);
      Vec offset = bias ? load(bias + j) : Vec{};
      for (std::int64_t p = 0; p < rows; ++p)
        for (std::int64_t q = 0; q < columns; ++q) {
          Vec value = values[p][q] + offset;
          if (relu) value = value < 0 ? Vec{} : value;  // NaN stays
          store(corner + (p * tile.columns + q) * step * k + j, value);
        }
    }
  }

  static void kernel(const float* g, const WinogradTaps& taps, std::int64_t c, std::int64_t k,
                     std::int64_t row, const WinogradMatrix& u) {
    for (std::int64_t j = 0; j < k; j += width) {
      Vec window[Taps][Taps], points[size][size];
      for (int q = 0; q < Taps; ++q)
        for (int p = 0; p < Taps; ++p)
          window[q][p] = load_tap(g + row * k + j, Tap(taps, p, q, c * k));
      both_axes<evaluate<Points, true, Taps>>(window, points);
      store_points(points, column_of(u, j) + row * panel, u.stride);
    }
  }

  static void turned_kernel(const float* g, const WinogradTaps& taps, std::int64_t c,
                            std::int64_t k, std::int64_t first, const WinogradMatrix& u) {
    for (std::int64_t j = 0; j < k; j += width) {
      float block[size * size][panel][width];
      for (std::int64_t row = 0; row < panel; ++row) {
        Vec window[Taps][Taps], points[size][size];
        for (int q = 0; q < Taps; ++q)
          for (int p = 0; p < Taps; ++p)
            window[Taps - 1 - q][Taps - 1 - p] =
                load_tap(g + (first + row) * k + j, Tap(taps, p, q, c * k));
        both_axes<evaluate<Points, true, Taps>>(window, points);
        store_points(points, block[0][row], panel * width);
      }
      float* to = u.data + first / panel * u.panel + j * panel;
      for (int i = 0; i < size * size; ++i)
        for (int column = 0; column < width; ++column)
          for (std::int64_t row = 0; row < panel; ++row)
            to[i * u.stride + column * panel + row] = block[i][row][column];
    }
  }

  static void kernel_gradient(const WinogradMatrix& u, const WinogradTaps& taps, std::int64_t c,
                              std::int64_t k, std::int64_t row, float* dg) {
    for (std::int64_t j = 0; j < k; j += width) {
      Vec points[size][size], window[Taps][Taps];
      load_points(u.data + row * k + j, u.stride, points);
      both_axes<transposed<Points, true, Taps>>(points, window);
      for (int p = 0; p < Taps; ++p)
        for (int q = 0; q < Taps; ++q) {
          Tap tap(taps, p, q, c * k);
          if (tap.inside) store(dg + tap.offset + row * k + j, window[p][q]);
        }
    }
  }

  static constexpr WinogradTransforms table{.size = size,
                                            .results = results,
                                            .input = input,
                                            .output_gradient = output_gradient,
                                            .output = output,
                                            .kernel = kernel,
                                            .turned_kernel = turned_kernel,
                                            .kernel_gradient = kernel_gradient};
};

}  // namespace

const WinogradLoops winograd_loops{
    .transforms = {Transforms<FivePoints, 2>::table, Transforms<SixPoints, 3>::table,
                   Transforms<SixPoints, 4>::table, Transforms<SixPoints, 5>::table},
    .products = winograd_products,
    .add_products = winograd_add_products};

}  // namespace belfry::cpu::BELFRY_ISA
