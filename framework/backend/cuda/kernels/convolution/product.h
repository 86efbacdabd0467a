#pragma once
// Matrix products of anything that can be seen as two matrices: the factors of a matmul, an image
// and a kernel. Internal to backend/cuda/kernels.
//
//   y[batch][m][n] = epilogue(sum over k of a(batch, m, k) * b(batch, n, k))
//
// An operand is seen as lines along k. It has `bool k_innermost` (whether neighbours along k are
// neighbours in memory), `Line line(batch, i)`, and `at(line, k)`, which is an element as SumOf<T>.
// Sums are in float or double (double for f64), along k in order; where one block a tile would
// leave the GPU idle k is cut into slices, each summed by itself, and then those in order.

#include <algorithm>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"

namespace belfry::cuda {

/// The type in which products of T are summed; unsigned for integers, which wrap around.
template <class T>
using SumOf = std::conditional_t<!std::is_integral_v<T>, compute_type<T>,
                                 std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

struct ProductShape {
  std::int64_t batches = 0, m = 0, n = 0, k = 0;
  std::int64_t slices = 1, k_of_slice = 0;  ///< set by make_product()

  BELFRY_HOST_DEVICE std::int64_t elements() const { return batches * m * n; }
};

/// Where sums go: y[batch * batch_stride + m * row_stride + n].
template <class T>
struct ProductOutput {
  using Sum = SumOf<T>;
  T* y = nullptr;
  const T* bias = nullptr;  ///< added: element batch * bias_stride + n; or null
  std::int64_t batch_stride = 0, row_stride = 0, bias_stride = 0;
  const T* addend = nullptr;  ///< added, of y's places; may be y; or null
  bool relu = false;
  Sum* slices = nullptr;  ///< if k is cut: [slice][batch][m][n]

  __device__ void finish(std::int64_t batch, std::int64_t m, std::int64_t n, Sum sum) const {
    if (bias) sum += static_cast<Sum>(load(bias + batch * bias_stride + n));
    std::int64_t position = batch * batch_stride + m * row_stride + n;
    if (addend) sum += static_cast<Sum>(load(addend + position));
    auto result = static_cast<compute_type<T>>(sum);
    if (relu) result = functor::Relu::apply<StdMath>(result);
    store(y + position, result);
  }
  __device__ void put(const ProductShape& shape, std::int64_t slice, std::int64_t batch,
                      std::int64_t m, std::int64_t n, Sum sum) const {
    if (!slices) return finish(batch, m, n, sum);
    slices[((slice * shape.batches + batch) * shape.m + m) * shape.n + n] = sum;
  }
};

namespace product {

constexpr int tile_lines = 64, tile_k = 16, threads = 256;
constexpr int each = 4;  // a thread makes each * each elements of a tile, these lines apart:
constexpr int apart = tile_lines / each;

template <class Sum>
using Tile = Sum[tile_k][tile_lines + 1];  // one more, so that columns lie in different banks

template <class Operand, class Sum>
__device__ void load_tile(const Operand& operand, std::int64_t batch, std::int64_t first_line,
                          std::int64_t lines, std::int64_t first_k, std::int64_t end_k,
                          Tile<Sum>& tile) {
  for (int i = static_cast<int>(threadIdx.x); i < tile_lines * tile_k; i += threads) {
    int line = operand.k_innermost ? i / tile_k : i % tile_lines;
    int k = operand.k_innermost ? i % tile_k : i / tile_lines;
    bool inside = first_line + line < lines && first_k + k < end_k;
    tile[k][line] =
        inside ? operand.at(operand.line(batch, first_line + line), first_k + k) : Sum(0);
  }
}

/// One block makes one tile of one slice.
template <class A, class B, class T>
__global__ void tiled(A a, B b, ProductOutput<T> out, ProductShape shape) {
  using Sum = SumOf<T>;
  __shared__ Tile<Sum> left, right;
  std::int64_t tiles_m = (shape.m + tile_lines - 1) / tile_lines;
  std::int64_t tiles_n = (shape.n + tile_lines - 1) / tile_lines;
  std::int64_t block = blockIdx.x;
  std::int64_t first_n = block % tiles_n * tile_lines;
  block /= tiles_n;
  std::int64_t first_m = block % tiles_m * tile_lines;
  block /= tiles_m;
  std::int64_t batch = block % shape.batches, slice = block / shape.batches;
  std::int64_t begin_k = slice * shape.k_of_slice, end_k = begin_k + shape.k_of_slice;
  if (end_k > shape.k) end_k = shape.k;
  int row = static_cast<int>(threadIdx.x) / apart, column = static_cast<int>(threadIdx.x) % apart;

  Sum sums[each][each] = {};
  for (std::int64_t k = begin_k; k < end_k; k += tile_k) {
    load_tile(a, batch, first_m, shape.m, k, end_k, left);
    load_tile(b, batch, first_n, shape.n, k, end_k, right);
    __syncthreads();
    for (int i = 0; i < tile_k; ++i)
      for (int r = 0; r < each; ++r)
        for (int c = 0; c < each; ++c)
          sums[r][c] += left[i][row + r * apart] * right[i][column + c * apart];
    __syncthreads();
  }
  for (int r = 0; r < each; ++r)
    for (int c = 0; c < each; ++c) {
      std::int64_t m = first_m + row + r * apart, n = first_n + column + c * apart;
      if (m < shape.m && n < shape.n) out.put(shape, slice, batch, m, n, sums[r][c]);
    }
}

/// One thread makes one element of one slice: for products of which a tile would be mostly empty.
template <class A, class B, class T>
__global__ void direct(A a, B b, ProductOutput<T> out, ProductShape shape) {
  std::int64_t i = thread_number();
  if (i >= shape.slices * shape.elements()) return;
  // Neighbours differ in n, then in batch, which is the group of a convolution: their outputs are
  // neighbours too.
  std::int64_t n = i % shape.n;
  i /= shape.n;
  std::int64_t batch = i % shape.batches;
  i /= shape.batches;
  std::int64_t m = i % shape.m, slice = i / shape.m;
  std::int64_t begin_k = slice * shape.k_of_slice, end_k = begin_k + shape.k_of_slice;
  if (end_k > shape.k) end_k = shape.k;
  auto left = a.line(batch, m);
  auto right = b.line(batch, n);
  SumOf<T> sum = 0;
  for (std::int64_t k = begin_k; k < end_k; ++k) sum += a.at(left, k) * b.at(right, k);
  out.put(shape, slice, batch, m, n, sum);
}

template <class T>
__global__ void sum_slices(ProductOutput<T> out, ProductShape shape) {
  std::int64_t i = thread_number();
  if (i >= shape.elements()) return;
  SumOf<T> sum = 0;
  for (std::int64_t slice = 0; slice < shape.slices; ++slice)
    sum += out.slices[slice * shape.elements() + i];
  std::int64_t row = i / shape.n;
  out.finish(row / shape.m, row % shape.m, i % shape.n, sum);
}

constexpr std::int64_t blocks_wanted = 264;  // two for each multiprocessor of an H100
constexpr std::int64_t least_k_of_slice = 256;
constexpr std::int64_t least_of_tile = 8;  // lines that a tile must have to be worth its loads

}  // namespace product

/// The kernel of a product. `bind(arguments)` returns {a, b, out} for the operands' addresses; the
/// slices are this function's.
template <class T, class Bind>
std::unique_ptr<Kernel> make_product(ProductShape shape, Bind bind) {
  using namespace product;
  bool tiles = std::min(shape.m, shape.n) >= least_of_tile;
  std::int64_t blocks = tiles ? shape.batches * ((shape.m + tile_lines - 1) / tile_lines)
                                    * ((shape.n + tile_lines - 1) / tile_lines)
                              : (shape.elements() + threads - 1) / threads;
  if (blocks > 0)
    shape.slices = std::clamp<std::int64_t>(shape.k / least_k_of_slice, 1,
                                            std::max<std::int64_t>(blocks_wanted / blocks, 1));
  shape.k_of_slice = (shape.k + shape.slices - 1) / shape.slices;
  if (tiles) shape.k_of_slice = (shape.k_of_slice + tile_k - 1) / tile_k * tile_k;
  bool cut = shape.slices > 1;
  Bytes workspace(cut ? shape.slices * shape.elements() * static_cast<int>(sizeof(SumOf<T>)) : 0);
  auto run = [=](const KernelArguments& arguments, Stream& stream) {
    auto [a, b, out] = bind(arguments);
    using A = decltype(a);
    using B = decltype(b);
    if (cut) out.slices = static_cast<SumOf<T>*>(arguments.workspace);
    if (tiles) {
      launch(stream, {blocks * shape.slices, threads}, tiled<A, B, T>, a, b, out, shape);
    } else {
      launch(stream, threads_for(shape.slices * shape.elements()), direct<A, B, T>, a, b, out,
             shape);
    }
    if (cut) launch(stream, threads_for(shape.elements()), sum_slices<T>, out, shape);
  };
  return make_kernel(run, workspace);
}

}  // namespace belfry::cuda
