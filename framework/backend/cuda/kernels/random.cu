// Random numbers and dropout: a thread draws the four numbers of a block (ops/random/random.h).

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/random/draw.h"
#include "belfry/framework/ops/random/random.h"

namespace belfry::cuda {
namespace {

/// A result seen as rows that are cut into blocks of four elements.
struct Grid {
  std::int64_t width, blocks_in_row, blocks;
  bool scalar;  // its row counts as 0
  std::uint64_t stream;
};

/// A block and the elements that have its numbers.
struct Draw {
  RandomBlock block;
  std::int64_t first;
  int count;
  bool aligned;  // whether they can be moved at once
};

__device__ inline Draw draw_of(const Grid& grid, const std::int64_t* state, std::int64_t number) {
  std::int64_t row = number / grid.blocks_in_row, in_row = number - row * grid.blocks_in_row;
  std::int64_t left = grid.width - in_row * 4;
  std::uint64_t global_row = grid.scalar ? 0 : state[2] + row;
  RandomBlock block{.key = philox_key(static_cast<std::uint64_t>(state[0]), grid.stream),
                    .low = global_row << 32 | static_cast<std::uint64_t>(in_row),
                    .step = static_cast<std::uint64_t>(state[1]) & 0xffffffffffff};
  return {block, row * grid.width + in_row * 4, left < 4 ? static_cast<int>(left) : 4,
          grid.width % 4 == 0};
}

template <class T>
__device__ Pack<T, 4> elements_of(const Draw& draw, const T* x) {
  if (draw.aligned) return load_pack<4>(x + draw.first);
  Pack<T, 4> pack{};
  for (int k = 0; k < 4; ++k)
    if (k < draw.count) pack.values[k] = x[draw.first + k];
  return pack;
}
template <class T>
__device__ void put(const Draw& draw, const Pack<T, 4>& pack, T* y) {
  if (draw.aligned) return store_pack<4>(y + draw.first, pack);
  for (int k = 0; k < 4; ++k)
    if (k < draw.count) y[draw.first + k] = pack.values[k];
}

/// The two parameters of a distribution, and b - a.
struct Parameters {
  double a, b, range;
};

/// From a to b.
template <class T>
struct Uniform {
  __device__ static Pack<T, 4> numbers(const RandomBlock& block, const Parameters& p) {
    auto words = block.words();
    Pack<T, 4> out;
    for (int k = 0; k < 4; ++k) {
      // A product of its own: fused with the sum it would round otherwise than on the host.
      double x = p.a + __dmul_rn(p.range, uniform_float(words[k]));
      T rounded = from_compute<T>(static_cast<compute_type<T>>(x));
      out.values[k] =
          static_cast<double>(to_compute(rounded)) < p.b ? rounded : number_below(rounded);
    }
    return out;
  }
};

/// Normal numbers of mean a and standard deviation b. They are computed in double precision, as on
/// the host: words of 32 bits that are close to the largest have logarithms close to 0.
template <class T, bool Truncated>
struct Normal {
  __device__ static Pack<T, 4> numbers(const RandomBlock& block, const Parameters& p) {
    auto z = normals(block.words());
    if constexpr (Truncated) {
      auto outside = [](double x) { return x > 2 || x < -2; };
      for (std::uint64_t attempt = 1;
           outside(z[0]) || outside(z[1]) || outside(z[2]) || outside(z[3]); ++attempt) {
        auto again = normals(block.words(attempt));
        for (int k = 0; k < 4; ++k)
          if (outside(z[k])) z[k] = again[k];
      }
    }
    Pack<T, 4> out;
    for (int k = 0; k < 4; ++k)
      out.values[k] = from_compute<T>(static_cast<compute_type<T>>(p.a + p.b * z[k]));
    return out;
  }
};
template <class T>
using PlainNormal = Normal<T, false>;
template <class T>
using TruncatedNormal = Normal<T, true>;

template <class Distribution, class T>
__global__ void fill_randomly(const std::int64_t* state, T* y, Grid grid, Parameters parameters) {
  std::int64_t number = thread_number();
  if (number >= grid.blocks) return;
  Draw draw = draw_of(grid, state, number);
  put(draw, Distribution::numbers(draw.block, parameters), y);
}

template <class T>
__global__ void drop(const T* x, const std::int64_t* state, T* y, Grid grid, float rate,
                     compute_type<T> scale) {
  std::int64_t number = thread_number();
  if (number >= grid.blocks) return;
  Draw draw = draw_of(grid, state, number);
  Pack<T, 4> pack = elements_of(draw, x);
  auto words = draw.block.words();
  for (int k = 0; k < 4; ++k) {
    compute_type<T> value = to_compute(pack.values[k]);
    pack.values[k] = from_compute<T>(uniform_float(words[k]) >= rate ? value * scale : 0);
  }
  put(draw, pack, y);
}

Grid grid_of(const Shape& shape, std::uint64_t stream) {
  std::int64_t rows = shape.rank() == 0 ? 1 : shape[0];
  std::int64_t width = rows == 0 ? 0 : shape.elements() / rows, in_row = (width + 3) / 4;
  return {width, in_row, rows * in_row, shape.rank() == 0, stream};
}

template <template <class> class Distribution>
std::unique_ptr<Kernel> make_random(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<RandomOptions>();
  return dispatch_floating(o.type.dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    return make_kernel(
        [grid = grid_of(o.type.shape, o.stream), parameters = Parameters{o.a, o.b, o.b - o.a}](
            const KernelArguments& a, Stream& stream) {
          launch(stream, threads_for(grid.blocks), fill_randomly<Distribution<T>, T>,
                 a.input<std::int64_t>(0), a.output<T>(0), grid, parameters);
        });
  });
}

std::unique_ptr<Kernel> make_dropout(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<DropoutMask>();
  const TensorType& y = node.output();
  return dispatch_floating(y.dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    auto scale = static_cast<compute_type<T>>(1 / (1 - static_cast<double>(o.rate)));
    return make_kernel([grid = grid_of(y.shape, o.stream), rate = o.rate, scale](
                           const KernelArguments& a, Stream& stream) {
      launch(stream, threads_for(grid.blocks), drop<T>, a.input<T>(0), a.input<std::int64_t>(1),
             a.output<T>(0), grid, rate, scale);
    });
  });
}

const KernelRegistration registrations[] = {
    {random_uniform_op, make_random<Uniform>},
    {random_normal_op, make_random<PlainNormal>},
    {random_truncated_normal_op, make_random<TruncatedNormal>},
    {dropout_op, make_dropout}};

}  // namespace
}  // namespace belfry::cuda
