// The transforms of Winograd's convolution along both axes, on vectors of channels.

#include "belfry/framework/backend/cpu/simd/winograd.h"

#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/winograd_points.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

/// Both axes: `in` holds columns, and rows of the result go to out[row][column].
template <auto along_columns, auto along_rows, int FromColumns, int FromRows, int ToRows,
          int ToColumns>
BELFRY_INLINE void both_axes(const Vec (&in)[FromColumns][FromRows],
                             Vec (&out)[ToRows][ToColumns]) {
  Vec half[FromColumns][ToRows];
  for (int q = 0; q < FromColumns; ++q) along_columns(in[q], half[q]);
  for (int p = 0; p < ToRows; ++p) {
    Vec row[FromColumns];
    for (int q = 0; q < FromColumns; ++q) row[q] = half[q][p];
    along_rows(row, out[p]);
  }
}

template <int Columns, int Rows, class T>
BELFRY_INLINE void load_tile(const T* image, const WinogradTile& tile, std::int64_t c,
                             std::int64_t j, Vec (&columns)[Columns][Rows]) {
  const T* corner = image + (tile.row * tile.columns + tile.column) * c + j;
  bool whole = tile.row >= 0 && tile.column >= 0 && tile.row + (Rows - 1) * tile.step < tile.rows
               && tile.column + (Columns - 1) * tile.step < tile.columns;
  for (int q = 0; q < Columns; ++q)
    for (int p = 0; p < Rows; ++p) {
      std::int64_t r = tile.row + p * tile.step, s = tile.column + q * tile.step;
      bool inside = whole || (r >= 0 && r < tile.rows && s >= 0 && s < tile.columns);
      columns[q][p] = inside ? load(corner + (p * tile.columns + q) * tile.step * c) : Vec{};
    }
}

/// Where the points of the column j of a row lie.
BELFRY_INLINE float* column_of(const WinogradMatrix& m, std::int64_t j) {
  return m.data + j / panel * m.panel + j % panel;
}
template <int Columns, int Rows>
BELFRY_INLINE void load_points(const float* from, std::int64_t stride,
                               Vec (&columns)[Columns][Rows]) {
  for (int q = 0; q < Columns; ++q)
    for (int p = 0; p < Rows; ++p) columns[q][p] = load(from + (p * Columns + q) * stride);
}
template <int Rows, int Columns>
BELFRY_INLINE void store_points(const Vec (&points)[Rows][Columns], float* to,
                                std::int64_t stride) {
  for (int i = 0; i < Rows * Columns; ++i) store(to + i * stride, points[i / Columns][i % Columns]);
}

/// The c k numbers of tap (p, q), and whether the window has it; if not, those of its first tap.
struct Tap {
  BELFRY_INLINE Tap(const WinogradTaps& taps, int p, int q, std::int64_t numbers) {
    std::int64_t row = taps.row + p * taps.step, column = taps.column + q * taps.step;
    inside = row < taps.rows && column < taps.columns;
    offset = inside * (row * taps.columns + column) * numbers;
  }
  std::int64_t offset;
  bool inside;
};

/// 0 outside; without a branch, which would part products from their sums, and the two are rounded
/// as one.
template <class T>
BELFRY_INLINE Vec load_tap(const T* g, const Tap& tap) {
  using Bits [[gnu::vector_size(sizeof(Vec))]] = std::int32_t;
  Bits mask = Bits{} - std::int32_t{tap.inside};
  return (Vec)((Bits)load(g + tap.offset) & mask);
}

/// An axis of tiles: so many taps by these points.
template <class Points_, int taps_>
struct Axis {
  using Points = Points_;
  static constexpr int taps = taps_, size = Points::size, results = size + 1 - taps;
};

/// WinogradTransforms<T> of windows with these axes.
template <class T, class Rows, class Columns>
struct Transforms {
  static constexpr int points = Rows::size * Columns::size;
  using Down = typename Rows::Points;
  using Across = typename Columns::Points;
  /// Coefficients and values of a tile, by column or by row.
  using PointColumns = Vec[Columns::size][Rows::size];
  using PointRows = Vec[Rows::size][Columns::size];
  using ResultColumns = Vec[Columns::results][Rows::results];
  using ResultRows = Vec[Rows::results][Columns::results];
  using TapColumns = Vec[Columns::taps][Rows::taps];
  using TapRows = Vec[Rows::taps][Columns::taps];

  static void input(const T* x, const WinogradTile& tile, std::int64_t c, const WinogradMatrix& v) {
    for (std::int64_t j = 0; j < c; j += width) {
      PointColumns pixels;
      PointRows values;
      load_tile(x, tile, c, j, pixels);
      both_axes<Down::input, Across::input>(pixels, values);
      store_points(values, column_of(v, j), v.stride);
    }
  }

  static void output_gradient(const T* dy, const WinogradTile& tile, std::int64_t k,
                              const WinogradMatrix& m) {
    for (std::int64_t j = 0; j < k; j += width) {
      ResultColumns pixels;
      PointRows values;
      load_tile(dy, tile, k, j, pixels);
      both_axes<evaluate<Down, false, Rows::results>, evaluate<Across, false, Columns::results>>(
          pixels, values);
      store_points(values, column_of(m, j), m.stride);
    }
  }

  static void output(const WinogradMatrix& m, const T* bias, bool relu, const WinogradTile& tile,
                     std::int64_t k, T* y) {
    std::int64_t step = tile.step;
    std::int64_t inside_rows = (tile.rows - tile.row + step - 1) / step,
                 inside_columns = (tile.columns - tile.column + step - 1) / step;
    auto rows = least<std::int64_t>(Rows::results, inside_rows),
         columns = least<std::int64_t>(Columns::results, inside_columns);
    T* corner = y + (tile.row * tile.columns + tile.column) * k;
    for (std::int64_t j = 0; j < k; j += width) {
      PointColumns values;
      ResultRows results;
      load_points(column_of(m, j), m.stride, values);
      both_axes<transposed<Down, false, Rows::results>,
                transposed<Across, false, Columns::results>>(values, results);
      Vec offset = bias ? load(bias + j) : Vec{};
      for (std::int64_t p = 0; p < rows; ++p)
        for (std::int64_t q = 0; q < columns; ++q) {
          Vec value = results[p][q] + offset;
          if (relu) value = value < 0 ? Vec{} : value;  // NaN stays
          store(corner + (p * tile.columns + q) * step * k + j, value);
        }
    }
  }

  static BELFRY_INLINE void evaluate_window(const TapColumns& window, PointRows& values) {
    both_axes<evaluate<Down, true, Rows::taps>, evaluate<Across, true, Columns::taps>>(window,
                                                                                       values);
  }

  static void kernel(const T* g, const WinogradTaps& taps, std::int64_t c, std::int64_t k,
                     std::int64_t row, const WinogradMatrix& u) {
    for (std::int64_t j = 0; j < k; j += width) {
      TapColumns window;
      PointRows values;
      for (int q = 0; q < Columns::taps; ++q)
        for (int p = 0; p < Rows::taps; ++p)
          window[q][p] = load_tap(g + row * k + j, Tap(taps, p, q, c * k));
      evaluate_window(window, values);
      store_points(values, column_of(u, j) + row * panel, u.stride);
    }
  }

  static void turned_kernel(const T* g, const WinogradTaps& taps, std::int64_t c, std::int64_t k,
                            std::int64_t first, const WinogradMatrix& u) {
    for (std::int64_t j = 0; j < k; j += width) {
      float block[points][panel][width];
      for (std::int64_t row = 0; row < panel; ++row) {
        TapColumns window;
        PointRows values;
        for (int q = 0; q < Columns::taps; ++q)
          for (int p = 0; p < Rows::taps; ++p)
            window[Columns::taps - 1 - q][Rows::taps - 1 - p] =
                load_tap(g + (first + row) * k + j, Tap(taps, p, q, c * k));
        evaluate_window(window, values);
        store_points(values, block[0][row], panel * width);
      }
      float* to = u.data + first / panel * u.panel + j * panel;
      for (int i = 0; i < points; ++i)
        for (int column = 0; column < width; ++column)
          for (std::int64_t row = 0; row < panel; ++row)
            to[i * u.stride + column * panel + row] = block[i][row][column];
    }
  }

  static void kernel_gradient(const WinogradMatrix& u, const WinogradTaps& taps, std::int64_t c,
                              std::int64_t k, std::int64_t row, T* dg) {
    for (std::int64_t j = 0; j < k; j += width) {
      PointColumns values;
      TapRows window;
      load_points(u.data + row * k + j, u.stride, values);
      both_axes<transposed<Down, true, Rows::taps>, transposed<Across, true, Columns::taps>>(
          values, window);
      for (int p = 0; p < Rows::taps; ++p)
        for (int q = 0; q < Columns::taps; ++q) {
          Tap tap(taps, p, q, c * k);
          if (tap.inside) store(dg + tap.offset + row * k + j, window[p][q]);
        }
    }
  }

  static constexpr WinogradTransforms<T> table{.points = points,
                                               .rows = Rows::results,
                                               .columns = Columns::results,
                                               .input = input,
                                               .output_gradient = output_gradient,
                                               .output = output,
                                               .kernel = kernel,
                                               .turned_kernel = turned_kernel,
                                               .kernel_gradient = kernel_gradient};
};

template <class T, class Columns>
constexpr WinogradTransforms<T> square = Transforms<T, Columns, Columns>::table;
template <class T, class Columns>
constexpr WinogradTransforms<T> line = Transforms<T, Axis<OnePoint, 1>, Columns>::table;

template <class T>
constexpr WinogradTables<T> tables{
    .squares = {square<T, Axis<FivePoints, 2>>, square<T, Axis<SixPoints, 3>>,
                square<T, Axis<SixPoints, 4>>, square<T, Axis<SixPoints, 5>>},
    .lines = {line<T, Axis<SixPoints, 3>>, line<T, Axis<SixPoints, 4>>,
              line<T, Axis<SixPoints, 5>>}};

}  // namespace

const WinogradLoops winograd_loops{.transforms = {tables<float>, tables<BFloat16>, tables<Float16>},
                                   .products = winograd_products,
                                   .add_products = winograd_add_products};

}  // namespace belfry::cpu::BELFRY_ISA
