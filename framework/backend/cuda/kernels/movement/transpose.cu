// transpose: square tiles go through shared memory, so that both sides are accessed along rows.

#include <algorithm>

#include "belfry/framework/backend/cuda/kernels/movement/copy.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

/// Tiles lie over the axis along which input elements are neighbours and that along which output
/// elements are. All other axes are `others`.
struct Tiles {
  Layout<2> others;                     // from, to
  std::int64_t from_axis, to_axis;      // sizes
  std::int64_t from_stride, to_stride;  // along the other one of the two
  std::int64_t along_from, along_to;    // number of tiles
};

constexpr int tile_threads = 256;

// 64 bytes at least are accessed together.
template <class Word>
constexpr int edge = sizeof(Word) < 2 ? 64 : 32;

template <class Word>
__global__ void transpose_tiles(const Word* from, Word* to, Tiles tiles) {
  constexpr int n = edge<Word>;
  __shared__ Word tile[n][n + 1];  // columns lie in different banks, too
  std::int64_t number = blockIdx.x, above = number / tiles.along_to;
  std::int64_t to_first = (number - above * tiles.along_to) * n;
  std::int64_t other = above / tiles.along_from;
  std::int64_t from_first = (above - other * tiles.along_from) * n;
  std::int64_t at[2];
  tiles.others.offsets(other, at);
  int lane = static_cast<int>(threadIdx.x) % n, line = static_cast<int>(threadIdx.x) / n;
  constexpr int lines = tile_threads / n, each = n / lines;
  Word words[each]{};  // all are on their way at once
  for (int k = 0; k < each; ++k) {
    std::int64_t i = from_first + lane, j = to_first + line + k * lines;
    if (i < tiles.from_axis && j < tiles.to_axis)
      words[k] = from[at[0] + j * tiles.from_stride + i];
  }
  for (int k = 0; k < each; ++k) tile[line + k * lines][lane] = words[k];
  __syncthreads();
  for (int k = 0; k < each; ++k) {
    std::int64_t i = from_first + line + k * lines, j = to_first + lane;
    if (i < tiles.from_axis && j < tiles.to_axis)
      to[at[1] + i * tiles.to_stride + j] = tile[lane][line + k * lines];
  }
}

/// `layout` without two of its axes.
Layout<2> without(const Layout<2>& layout, int a, int b) {
  Layout<2> out{.rank = 0, .wide = layout.wide};
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (axis == a || axis == b) continue;
    out.sizes[out.rank] = layout.sizes[axis];
    for (int n = 0; n < 2; ++n) out.strides[n][out.rank] = layout.strides[n][axis];
    ++out.rank;
  }
  return out;
}

template <class Word>
std::unique_ptr<Kernel> tiled_kernel(const Layout<2>& layout, int from_axis) {
  int to_axis = layout.rank - 1;
  auto count = [](std::int64_t size) { return (size + edge<Word> - 1) / edge<Word>; };
  Tiles tiles{.others = without(layout, from_axis, to_axis),
              .from_axis = layout.sizes[from_axis],
              .to_axis = layout.sizes[to_axis],
              .from_stride = layout.strides[0][to_axis],
              .to_stride = layout.strides[1][from_axis],
              .along_from = count(layout.sizes[from_axis]),
              .along_to = count(layout.sizes[to_axis])};
  std::int64_t blocks = tiles.along_from * tiles.along_to;
  for (int axis = 0; axis < tiles.others.rank; ++axis) blocks *= tiles.others.sizes[axis];
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    launch(stream, {.blocks = blocks, .threads = tile_threads}, transpose_tiles<Word>,
           a.input<Word>(0), a.output<Word>(0), tiles);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const TensorType& y = node.output();
  const std::vector<int>& permutation = node.as<TransposeOptions>().permutation;
  Strides own = row_major(node.input(0).shape()), strides{};
  for (std::size_t i = 0; i < permutation.size(); ++i) strides[i] = own[permutation[i]];
  Layout<2> layout = make_layout<2>(y.shape, {strides, row_major(y.shape)});
  const std::int64_t* of_input = layout.strides[0];
  int from_axis = std::find(of_input, of_input + layout.rank, 1) - of_input;
  // A narrow tile would leave most threads idle.
  constexpr std::int64_t narrow = 8;
  if (from_axis < layout.rank - 1
      && std::min(layout.sizes[from_axis], layout.sizes[layout.rank - 1]) >= narrow)
    return dispatch_word(static_cast<std::int64_t>(size_of(y.dtype)), [&](auto word) {
      return tiled_kernel<decltype(word)>(layout, from_axis);
    });
  StridedCopy copy = strided_copy(y.shape, size_of(y.dtype), {strides}, {row_major(y.shape)});
  return make_kernel([copy](const KernelArguments& a, Stream& stream) {
    run(copy, a.inputs[0], a.outputs[0], stream);
  });
}

const KernelRegistration registration(transpose_op, make);

}  // namespace
}  // namespace belfry::cuda
