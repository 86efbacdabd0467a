// The matrix products of Winograd's convolution.

#include "belfry/framework/backend/cpu/simd/winograd.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

// Rows of a block of results that stay in registers: two vectors of each.
#if defined(__AVX512F__)
constexpr int product_rows = 12, gradient_rows = 8;
#else
constexpr int product_rows = 6, gradient_rows = 4;
#endif

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

template <int N>
BELFRY_INLINE void add_block(const float* a, const float* b, bool write, std::int64_t rows,
                             std::int64_t r, std::int64_t j, std::int64_t k, float* sum) {
  constexpr int R = gradient_rows;
  const float *left = a + r / panel * panel * rows + r % panel, *right[N];
  vectors_at(b, j, rows, right);
  Vec sums[R][N] = {};
  for (int p = 0; p < R && !write; ++p)
    for (int n = 0; n < N; ++n) __builtin_prefetch(sum + (r + p) * k + j + n * width, 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    Vec columns[N];
    for (int n = 0; n < N; ++n) columns[n] = load(right[n] + i * panel);
    for (int p = 0; p < R; ++p)
      for (int n = 0; n < N; ++n) sums[p][n] += left[i * panel + p] * columns[n];
  }
  // A block's products are added up by themselves: one long sum of all blocks' would round more.
  for (int p = 0; p < R; ++p)
    for (int n = 0; n < N; ++n) {
      float* at = sum + (r + p) * k + j + n * width;
      store(at, write ? sums[p][n] : load(at) + sums[p][n]);
    }
}

}  // namespace

void winograd_products(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
                       std::int64_t k, float* m) {
  std::int64_t j = 0;
  for (; j + 2 * width <= k; j += 2 * width) product_columns<2>(factors, count, rows, c, j, k, m);
  for (; j < k; j += width) product_columns<1>(factors, count, rows, c, j, k, m);
}

void winograd_add_products(const float* a, const float* b, bool write, std::int64_t rows,
                           std::int64_t c, std::int64_t k, float* sum) {
  std::int64_t j = 0;
  for (; j + 2 * width <= k; j += 2 * width)
    for (std::int64_t r = 0; r < c; r += gradient_rows)
      add_block<2>(a, b, write, rows, r, j, k, sum);
  for (; j < k; j += width)
    for (std::int64_t r = 0; r < c; r += gradient_rows)
      add_block<1>(a, b, write, rows, r, j, k, sum);
}

}  // namespace belfry::cpu::BELFRY_ISA
