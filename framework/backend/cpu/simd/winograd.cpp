// The transforms of Winograd's convolution and its 36 matrix products, on vectors of channels.

#include "belfry/framework/backend/cpu/simd/isa.h"
#include "belfry/framework/backend/cpu/simd/loops.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

// Floats of a vector, and rows of a block of results that stay in registers: two vectors of each.
#if defined(__AVX512F__)
constexpr int width = 16, product_rows = 12, gradient_rows = 8;
#elif defined(__AVX__)
constexpr int width = 8, product_rows = 6, gradient_rows = 4;
#else
constexpr int width = 4, product_rows = 6, gradient_rows = 4;
#endif
constexpr std::int64_t panel = winograd_channels;

using Vec [[gnu::vector_size(width * sizeof(float))]] = float;
using VecAnywhere
    [[gnu::vector_size(width * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] =
        float;

BELFRY_INLINE Vec load(const float* p) { return *reinterpret_cast<const VecAnywhere*>(p); }
BELFRY_INLINE void store(float* p, Vec v) { *reinterpret_cast<VecAnywhere*>(p) = v; }

// The points are 0, a, -a, b, -b and infinity. With a = 5/8 and b = 3/2 every number below but the
// factors of the kernel is exact in float, and errors are half of those with 1 and 2.
constexpr double a = 0.625, b = 1.5;
constexpr float a1 = a, a2 = a * a, a3 = a * a * a, b1 = b, b2 = b * b, b3 = b * b * b;
constexpr float product = a * a * b * b, sum = a * a + b * b;
// The kernel's transform has as factors 1 over the product of a point's distances from the others.
constexpr double at_0 = 1 / (a * a * b * b), at_a = 1 / (2 * a * a * (a * a - b * b)),
                 at_b = 1 / (2 * b * b * (b * b - a * a));
constexpr float k0 = at_0, ka0 = at_a, ka1 = at_a * a, ka2 = at_a * a * a, kb0 = at_b,
                kb1 = at_b * b, kb2 = at_b * b * b;

/// B' d: six pixels to six points.
BELFRY_INLINE void transform_input(const Vec (&d)[6], Vec (&out)[6]) {
  Vec even = d[4] - b2 * d[2], odd = a1 * (d[3] - b2 * d[1]);
  Vec far_even = d[4] - a2 * d[2], far_odd = b1 * (d[3] - a2 * d[1]);
  out[0] = product * d[0] - sum * d[2] + d[4];
  out[1] = even + odd;
  out[2] = even - odd;
  out[3] = far_even + far_odd;
  out[4] = far_even - far_odd;
  out[5] = product * d[1] - sum * d[3] + d[5];
}

/// A' m: six points to four results.
BELFRY_INLINE void transform_output(const Vec (&m)[6], Vec (&out)[4]) {
  Vec even = m[1] + m[2], odd = m[1] - m[2], far_even = m[3] + m[4], far_odd = m[3] - m[4];
  out[0] = m[0] + even + far_even;
  out[1] = a1 * odd + b1 * far_odd;
  out[2] = a2 * even + b2 * far_even;
  out[3] = a3 * odd + b3 * far_odd + m[5];
}

/// A y: its transpose.
BELFRY_INLINE void transform_output_gradient(const Vec (&y)[4], Vec (&out)[6]) {
  Vec even = y[0] + a2 * y[2], odd = a1 * y[1] + a3 * y[3];
  Vec far_even = y[0] + b2 * y[2], far_odd = b1 * y[1] + b3 * y[3];
  out[0] = y[0];
  out[1] = even + odd;
  out[2] = even - odd;
  out[3] = far_even + far_odd;
  out[4] = far_even - far_odd;
  out[5] = y[3];
}

/// G g: three taps to six points.
BELFRY_INLINE void transform_kernel(const Vec (&g)[3], Vec (&out)[6]) {
  Vec even = ka0 * g[0] + ka2 * g[2], odd = ka1 * g[1];
  Vec far_even = kb0 * g[0] + kb2 * g[2], far_odd = kb1 * g[1];
  out[0] = k0 * g[0];
  out[1] = even + odd;
  out[2] = even - odd;
  out[3] = far_even + far_odd;
  out[4] = far_even - far_odd;
  out[5] = g[2];
}

/// G' u: its transpose.
BELFRY_INLINE void transform_kernel_gradient(const Vec (&u)[6], Vec (&out)[3]) {
  Vec even = u[1] + u[2], odd = u[1] - u[2], far_even = u[3] + u[4], far_odd = u[3] - u[4];
  out[0] = k0 * u[0] + ka0 * even + kb0 * far_even;
  out[1] = ka1 * odd + kb1 * far_odd;
  out[2] = ka2 * even + kb2 * far_even + u[5];
}

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
  bool whole = tile.row >= 0 && tile.column >= 0 && tile.row + Size <= tile.rows
               && tile.column + Size <= tile.columns;
  for (int q = 0; q < Size; ++q)
    for (int p = 0; p < Size; ++p) {
      std::int64_t r = tile.row + p, s = tile.column + q;
      bool inside = whole || (r >= 0 && r < tile.rows && s >= 0 && s < tile.columns);
      columns[q][p] = inside ? load(corner + (p * tile.columns + q) * c) : Vec{};
    }
}

void input(const float* x, const WinogradTile& tile, std::int64_t c, const WinogradMatrix& v) {
  for (std::int64_t j = 0; j < c; j += width) {
    Vec pixels[6][6], points[6][6];
    load_tile(x, tile, c, j, pixels);
    both_axes<transform_input>(pixels, points);
    float* to = v.data + j / panel * v.panel + j % panel;
    for (int i = 0; i < 36; ++i) store(to + i * v.stride, points[i / 6][i % 6]);
  }
}

void output_gradient(const float* dy, const WinogradTile& tile, std::int64_t k,
                     const WinogradMatrix& m) {
  for (std::int64_t j = 0; j < k; j += width) {
    Vec pixels[4][4], points[6][6];
    load_tile(dy, tile, k, j, pixels);
    both_axes<transform_output_gradient>(pixels, points);
    float* to = m.data + j / panel * m.panel + j % panel;
    for (int i = 0; i < 36; ++i) store(to + i * m.stride, points[i / 6][i % 6]);
  }
}

void output(const WinogradMatrix& m, const float* bias, bool relu, const WinogradTile& tile,
            std::int64_t k, float* y) {
  std::int64_t rows = least<std::int64_t>(4, tile.rows - tile.row),
               columns = least<std::int64_t>(4, tile.columns - tile.column);
  float* corner = y + (tile.row * tile.columns + tile.column) * k;
  for (std::int64_t j = 0; j < k; j += width) {
    Vec points[6][6], results[4][4];
    const float* from = m.data + j / panel * m.panel + j % panel;
    for (int q = 0; q < 6; ++q)
      for (int p = 0; p < 6; ++p) points[q][p] = load(from + (p * 6 + q) * m.stride);
    both_axes<transform_output>(points, results);
    Vec offset = bias ? load(bias + j) : Vec{};
    for (std::int64_t p = 0; p < rows; ++p)
      for (std::int64_t q = 0; q < columns; ++q) {
        Vec value = results[p][q] + offset;
        if (relu) value = value < 0 ? Vec{} : value;  // NaN stays
        store(corner + (p * tile.columns + q) * k + j, value);
      }
  }
}

/// From the kernel [3, 3, c, k]; u [c, k].
void kernel(const float* g, std::int64_t c, std::int64_t k, std::int64_t row,
            const WinogradMatrix& u) {
  for (std::int64_t j = 0; j < k; j += width) {
    Vec taps[3][3], points[6][6];
    for (int q = 0; q < 3; ++q)
      for (int p = 0; p < 3; ++p) taps[q][p] = load(g + ((p * 3 + q) * c + row) * k + j);
    both_axes<transform_kernel>(taps, points);
    float* to = u.data + j / panel * u.panel + row * panel + j % panel;
    for (int i = 0; i < 36; ++i) store(to + i * u.stride, points[i / 6][i % 6]);
  }
}

/// The same with all taps turned by half a circle; u [k, c].
void turned_kernel(const float* g, std::int64_t c, std::int64_t k, std::int64_t first,
                   const WinogradMatrix& u) {
  for (std::int64_t j = 0; j < k; j += width) {
    float block[36][panel][width];
    for (std::int64_t row = 0; row < panel; ++row) {
      Vec taps[3][3], points[6][6];
      for (int q = 0; q < 3; ++q)
        for (int p = 0; p < 3; ++p)
          taps[2 - q][2 - p] = load(g + ((p * 3 + q) * c + first + row) * k + j);
      both_axes<transform_kernel>(taps, points);
      for (int i = 0; i < 36; ++i) store(block[i][row], points[i / 6][i % 6]);
    }
    float* to = u.data + first / panel * u.panel + j * panel;
    for (int i = 0; i < 36; ++i)
      for (int column = 0; column < width; ++column)
        for (std::int64_t row = 0; row < panel; ++row)
          to[i * u.stride + column * panel + row] = block[i][row][column];
  }
}

void kernel_gradient(const WinogradMatrix& u, std::int64_t c, std::int64_t k, std::int64_t row,
                     float* dg) {
  for (std::int64_t j = 0; j < k; j += width) {
    Vec points[6][6], taps[3][3];
    const float* from = u.data + row * k + j;
    for (int q = 0; q < 6; ++q)
      for (int p = 0; p < 6; ++p) points[q][p] = load(from + (p * 6 + q) * u.stride);
    both_axes<transform_kernel_gradient>(points, taps);
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q) store(dg + ((p * 3 + q) * c + row) * k + j, taps[p][q]);
  }
}

/// Where the vectors of a row of a matrix in panels begin, from column j on.
template <int N>
BELFRY_INLINE void vectors_at(const float* data, std::int64_t j, std::int64_t rows,
                              const float* (&out)[N]) {
  for (int n = 0; n < N; ++n) {
    std::int64_t column = j + n * width;
    out[n] = data + column / panel * panel * rows + column % panel;
  }
}

/// R rows and N vectors of m, in registers.
template <int R, int N>
BELFRY_INLINE void product_block(const WinogradFactors* factors, int count, std::int64_t r,
                                 std::int64_t c, std::int64_t j, std::int64_t k, float* m) {
  Vec sums[R][N] = {};
  for (const WinogradFactors* f = factors; f < factors + count; ++f) {
    const float *a = f->a + r * c, *u[N];
    vectors_at(f->u, j, c, u);
    for (std::int64_t i = 0; i < c; ++i) {
      Vec columns[N];
      for (int n = 0; n < N; ++n) columns[n] = load(u[n] + i * panel);
      for (int p = 0; p < R; ++p)
        for (int n = 0; n < N; ++n) sums[p][n] += a[p * c + i] * columns[n];
    }
  }
  for (int p = 0; p < R; ++p)
    for (int n = 0; n < N; ++n) store(m + (r + p) * k + j + n * width, sums[p][n]);
}

/// The last rows, fewer than R + 1.
template <int R, int N>
BELFRY_INLINE void product_rest(const WinogradFactors* factors, int count, std::int64_t r,
                                std::int64_t rows, std::int64_t c, std::int64_t j, std::int64_t k,
                                float* m) {
  if constexpr (R > 0) {
    if (rows - r == R)
      product_block<R, N>(factors, count, r, c, j, k, m);
    else
      product_rest<R - 1, N>(factors, count, r, rows, c, j, k, m);
  }
}

template <int N>
void product_columns(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
                     std::int64_t j, std::int64_t k, float* m) {
  std::int64_t r = 0;
  for (; r + product_rows <= rows; r += product_rows)
    product_block<product_rows, N>(factors, count, r, c, j, k, m);
  product_rest<product_rows - 1, N>(factors, count, r, rows, c, j, k, m);
}

void products(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
              std::int64_t k, float* m) {
  std::int64_t j = 0;
  for (; j + 2 * width <= k; j += 2 * width) product_columns<2>(factors, count, rows, c, j, k, m);
  for (; j < k; j += width) product_columns<1>(factors, count, rows, c, j, k, m);
}

template <int N>
BELFRY_INLINE void add_block(const float* a, const float* b, std::int64_t rows, std::int64_t r,
                             std::int64_t j, std::int64_t k, float* sum) {
  constexpr int R = gradient_rows;
  const float *left = a + r / panel * panel * rows + r % panel, *right[N];
  vectors_at(b, j, rows, right);
  Vec sums[R][N];
  for (int p = 0; p < R; ++p)
    for (int n = 0; n < N; ++n) sums[p][n] = load(sum + (r + p) * k + j + n * width);
  for (std::int64_t i = 0; i < rows; ++i) {
    Vec columns[N];
    for (int n = 0; n < N; ++n) columns[n] = load(right[n] + i * panel);
    for (int p = 0; p < R; ++p)
      for (int n = 0; n < N; ++n) sums[p][n] += left[i * panel + p] * columns[n];
  }
  for (int p = 0; p < R; ++p)
    for (int n = 0; n < N; ++n) store(sum + (r + p) * k + j + n * width, sums[p][n]);
}

void add_products(const float* a, const float* b, std::int64_t rows, std::int64_t c, std::int64_t k,
                  float* sum) {
  std::int64_t j = 0;
  for (; j + 2 * width <= k; j += 2 * width)
    for (std::int64_t r = 0; r < c; r += gradient_rows) add_block<2>(a, b, rows, r, j, k, sum);
  for (; j < k; j += width)
    for (std::int64_t r = 0; r < c; r += gradient_rows) add_block<1>(a, b, rows, r, j, k, sum);
}

}  // namespace

const WinogradLoops winograd_loops{.input = input,
                                   .output_gradient = output_gradient,
                                   .output = output,
                                   .kernel = kernel,
                                   .turned_kernel = turned_kernel,
                                   .kernel_gradient = kernel_gradient,
                                   .products = products,
                                   .add_products = add_products};

}  // namespace belfry::cpu::BELFRY_ISA
