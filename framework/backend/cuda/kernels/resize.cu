// Resizing of images [n, h, w, c] and its gradients. A thread makes neighbouring channels of one
// pixel; gradients are gathered, so that each element is added up by one thread in one order.

#include "belfry/framework/backend/cuda/kernels/movement/copy.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/resize/resize_geometry.h"

namespace belfry::cuda {
namespace {

/// One pixel of an image, and a place among the packs of its channels.
struct Pixel {
  std::int64_t n, h, w, pack;
};

__device__ inline Pixel pixel_of(std::int64_t number, std::int64_t rows, std::int64_t columns,
                                 std::int64_t packs) {
  std::int64_t w = number / packs, h = w / columns, n = h / rows;
  return {n, h - n * rows, w - h * columns, number - w * packs};
}

/// Channels are counted in words.
template <class Word>
__global__ void resize_nearest(const Word* x, Word* y, ResizeGeometry g, std::int64_t words) {
  std::int64_t i = thread_number();
  if (i >= words) return;
  Pixel p = pixel_of(i, g.rows.out, g.columns.out, g.channels);
  y[i] = x[g.input_pixel(p.n, g.rows.nearest(p.h), g.columns.nearest(p.w)) + p.pack];
}

template <class C, class T, int N>
__device__ Pack<C, N> load_channels(const T* x) {
  Pack<T, N> pack = load_pack<N>(x);
  Pack<C, N> out;
  for (int k = 0; k < N; ++k) out.values[k] = to_compute(pack.values[k]);
  return out;
}
template <class T, int N>
__device__ void store_channels(T* y, const Pack<compute_type<T>, N>& values) {
  Pack<T, N> pack;
  for (int k = 0; k < N; ++k) pack.values[k] = from_compute<T>(values.values[k]);
  store_pack<N>(y, pack);
}

template <class T, int N>
__global__ void resize_bilinear(const T* x, T* y, ResizeGeometry g, std::int64_t packs) {
  using C = compute_type<T>;
  std::int64_t i = thread_number();
  if (i >= packs) return;
  Pixel p = pixel_of(i, g.rows.out, g.columns.out, g.channels / N);
  ResizeAxis::Blend row = g.rows.blend(p.h), column = g.columns.blend(p.w);
  auto at = [&](std::int64_t h, std::int64_t w) {
    return load_channels<C, T, N>(x + g.input_pixel(p.n, h, w) + p.pack * N);
  };
  Pack<C, N> top_left = at(row.low, column.low), top_right = at(row.low, column.high);
  Pack<C, N> bottom_left = at(row.high, column.low), bottom_right = at(row.high, column.high);
  auto mix = [](C low, C high, double weight) { return low + (high - low) * C(weight); };
  Pack<C, N> out;
  for (int k = 0; k < N; ++k) {
    C top = mix(top_left.values[k], top_right.values[k], column.weight);
    C bottom = mix(bottom_left.values[k], bottom_right.values[k], column.weight);
    out.values[k] = mix(top, bottom, row.weight);
  }
  store_channels<T, N>(y + i * N, out);
}

/// The inputs that resize_nearest reads, for its gradient.
struct Nearest {
  static constexpr double reach = 0.5;
  __device__ static std::int64_t last(const ResizeAxis& a, std::int64_t o) { return a.nearest(o); }
  __device__ static std::int64_t first(const ResizeAxis& a, std::int64_t o) { return a.nearest(o); }
  __device__ static double fraction(const ResizeAxis&, std::int64_t, std::int64_t) { return 1; }
};
struct Bilinear {
  static constexpr double reach = 1;
  __device__ static std::int64_t last(const ResizeAxis& a, std::int64_t o) {
    return a.blend(o).high;
  }
  __device__ static std::int64_t first(const ResizeAxis& a, std::int64_t o) {
    return a.blend(o).low;
  }
  __device__ static double fraction(const ResizeAxis& a, std::int64_t o, std::int64_t i) {
    return a.blend(o).fraction(i);
  }
};

/// The output that lies at `position` of the input's axis, as far as there is one.
__device__ inline std::int64_t output_near(const ResizeAxis& a, double position) {
  double in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  double o = !a.align_corners ? (position + 0.5) * out / in - 0.5
             : a.in > 1       ? position * (out - 1) / (in - 1)
             : position > 0   ? out
                              : 0;
  return static_cast<std::int64_t>(std::min(std::max(o, 0.0), out));
}

/// ResizeAxis::first_reader() by steps from close to it: rounding, and that nothing lies beyond the
/// outermost inputs, make it differ from the output at `position`.
template <class Read>
__device__ std::int64_t first_reader(const ResizeAxis& a, std::int64_t i, double position,
                                     const Read& read) {
  std::int64_t o = output_near(a, position);
  while (o > 0 && read(o - 1) >= i) --o;
  while (o < a.out && read(o) < i) ++o;
  return o;
}

struct Range {
  std::int64_t begin, end;
};

/// The outputs that read input i, be it with weight 0.
template <class Method>
__device__ Range readers(const ResizeAxis& a, std::int64_t i) {
  double position = static_cast<double>(i);
  return {first_reader(a, i, position - Method::reach,
                       [&](std::int64_t o) { return Method::last(a, o); }),
          first_reader(a, i + 1, position + Method::reach,
                       [&](std::int64_t o) { return Method::first(a, o); })};
}

template <class Method, class T, int N>
__global__ void resize_grad(const T* dy, T* dx, ResizeGeometry g, std::int64_t packs) {
  using C = compute_type<T>;
  std::int64_t i = thread_number();
  if (i >= packs) return;
  Pixel p = pixel_of(i, g.rows.in, g.columns.in, g.channels / N);
  Range rows = readers<Method>(g.rows, p.h), columns = readers<Method>(g.columns, p.w);
  Pack<C, N> sum{};
  for (std::int64_t oh = rows.begin; oh < rows.end; ++oh) {
    double row_fraction = Method::fraction(g.rows, oh, p.h);
    for (std::int64_t ow = columns.begin; ow < columns.end; ++ow) {
      C fraction = C(row_fraction * Method::fraction(g.columns, ow, p.w));
      Pack<C, N> y = load_channels<C, T, N>(dy + g.output_pixel(p.n, oh, ow) + p.pack * N);
      for (int k = 0; k < N; ++k) sum.values[k] += fraction * y.values[k];
    }
  }
  store_channels<T, N>(dx + i * N, sum);
}

std::unique_ptr<Kernel> make_nearest(const Node& node, const Gpu&, const KernelOptions&) {
  const TensorType& x = node.input(0).type();
  ResizeGeometry g = resize_geometry(node.op().name, x.shape, node.as<ResizeOptions>());
  std::int64_t bytes = size_of(x.dtype);
  for (; bytes < 16 && g.channels > 0 && g.channels % 2 == 0; bytes *= 2) g.channels /= 2;
  return dispatch_word(bytes, [&](auto word) {
    using Word = decltype(word);
    return make_kernel([g, words = g.output().elements()](const KernelArguments& a, Stream& s) {
      launch(s, threads_for(words), resize_nearest<Word>, a.input<Word>(0), a.output<Word>(0), g,
             words);
    });
  });
}

/// Calls f(T{}, N) with N channels to be moved at once, as an integral constant.
template <class F>
std::unique_ptr<Kernel> with_packs(const Node& node, std::int64_t channels, F&& f) {
  return dispatch_floating(node.input(0).dtype(), node.op().name, [&](auto t) {
    constexpr int n = pack_size<decltype(t)>;
    return channels % n == 0 ? f(t, std::integral_constant<int, n>{})
                             : f(t, std::integral_constant<int, 1>{});
  });
}

std::unique_ptr<Kernel> make_bilinear(const Node& node, const Gpu&, const KernelOptions&) {
  ResizeGeometry g =
      resize_geometry(node.op().name, node.input(0).shape(), node.as<ResizeOptions>());
  return with_packs(node, g.channels, [&](auto t, auto n) {
    using T = decltype(t);
    constexpr int N = decltype(n)::value;
    return make_kernel([g, packs = g.output().elements() / N](const KernelArguments& a, Stream& s) {
      launch(s, threads_for(packs), resize_bilinear<T, N>, a.input<T>(0), a.output<T>(0), g, packs);
    });
  });
}

template <class Method>
std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&, const KernelOptions&) {
  ResizeGeometry g =
      resize_grad_geometry(node.op().name, node.input(0).shape(), node.as<ResizeOptions>());
  return with_packs(node, g.channels, [&](auto t, auto n) {
    using T = decltype(t);
    constexpr int N = decltype(n)::value;
    return make_kernel([g, packs = g.input().elements() / N](const KernelArguments& a, Stream& s) {
      launch(s, threads_for(packs), resize_grad<Method, T, N>, a.input<T>(0), a.output<T>(0), g,
             packs);
    });
  });
}

const KernelRegistration registrations[] = {{resize_nearest_op, make_nearest},
                                            {resize_bilinear_op, make_bilinear},
                                            {resize_nearest_grad_op, make_grad<Nearest>},
                                            {resize_bilinear_grad_op, make_grad<Bilinear>}};

}  // namespace
}  // namespace belfry::cuda
