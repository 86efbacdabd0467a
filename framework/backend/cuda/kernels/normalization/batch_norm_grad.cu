// The gradients of batch normalisation: two sums down each channel, then the elements. Those of
// ReLU and of a residual cost no launch of their own.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/normalization/batch_norm.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

/// The operands, [rows, channels] and [channels].
template <class T>
struct Operands {
  using C = compute_type<T>;
  using Item = Pair<C>;
  const T *dy, *x;
  const C *scale, *mean, *inverse;
  // At most one is there, by which the zeros of ReLU are known: see ReluGate.
  const T* y;
  const C* offset;
  const std::uint8_t* mask;
  std::int64_t channels;

  /// Elements of V channels as they lie in memory.
  template <int V>
  struct Loaded {
    Pack<T, V> dy, x, y;
    std::uint8_t mask;
  };

  /// The state that a thread keeps for its V channels.
  template <int V>
  struct Channels {
    Operands of;
    std::int64_t first;
    C mean[V], factor[V], offset[V];  // the last unset where y need not be computed

    __device__ Loaded<V> load(std::int64_t row) const {
      std::int64_t base = row * of.channels + first;
      Loaded<V> loaded{load_pack<V>(of.dy + base), load_pack<V>(of.x + base), {}, 0};
      if (of.y) loaded.y = load_pack<V>(of.y + base);
      if (V == mask_bits && of.mask) loaded.mask = of.mask[base / mask_bits];
      return loaded;
    }
    /// dy before the activation, and the distance of x from its mean.
    __device__ void unpack_into(const Loaded<V>& loaded, C (&gradients)[V],
                                C (&distances)[V]) const {
      C outputs[V];
      unpack(loaded.dy, gradients);
      unpack(loaded.x, distances);
      unpack(loaded.y, outputs);
      for (int k = 0; k < V; ++k) {
        if (of.offset) outputs[k] = normalized(distances[k], mean[k], factor[k], offset[k]);
        if (V == mask_bits && of.mask) outputs[k] = loaded.mask >> k & 1;
        if (of.y || of.offset || of.mask)
          gradients[k] = functor::ReluGrad::apply<StdMath>(gradients[k], outputs[k]);
        distances[k] -= mean[k];
      }
    }
    /// For fold_columns: dy (x - mean), and dy.
    __device__ void read(std::int64_t, const Loaded<V>& loaded, Item (&items)[V]) const {
      C gradients[V], distances[V];
      unpack_into(loaded, gradients, distances);
      for (int k = 0; k < V; ++k) items[k] = {gradients[k] * distances[k], gradients[k]};
    }
  };
  template <int V>
  __device__ Channels<V> at(std::int64_t channel) const {
    Channels<V> out{*this, channel, {}, {}, {}};
    C scales[V], inverses[V];
    load_values(mean + channel, out.mean);
    load_values(scale + channel, scales);
    load_values(inverse + channel, inverses);
    if (offset) load_values(offset + channel, out.offset);
    for (int k = 0; k < V; ++k) out.factor[k] = scales[k] * inverses[k];
    return out;
  }
};

template <class C>
struct StoreParameters {
  const C* inverse;
  C *dscale, *doffset;
  __device__ void operator()(std::int64_t channel, Pair<C> sums) const {
    dscale[channel] = sums.a * inverse[channel];
    doffset[channel] = sums.b;
  }
};

/// dx = scale / deviation (dy - (doffset + normalised x dscale) / count). dx may be dy.
template <class T>
struct InputGradient {
  using C = compute_type<T>;
  Operands<T> in;
  const C *dscale, *doffset;
  C fraction;         // of a row: 1 / rows
  T *dx, *dresidual;  // the latter null where there is none

  template <int V>
  struct Channels {
    InputGradient of;
    typename Operands<T>::template Channels<V> in;
    C slope[V], shift[V];
    __device__ auto load(std::int64_t row) const { return in.load(row); }
    __device__ void apply(std::int64_t row, const auto& loaded) const {
      std::int64_t base = row * of.in.channels + in.first;
      C gradients[V], values[V];
      in.unpack_into(loaded, gradients, values);
      for (int k = 0; k < V; ++k)
        values[k] = in.factor[k] * (gradients[k] - shift[k] - values[k] * slope[k]);
      store_values(of.dx + base, values);
      if (of.dresidual) store_values(of.dresidual + base, gradients);
    }
  };
  template <int V>
  __device__ Channels<V> at(std::int64_t channel) const {
    Channels<V> out{*this, in.template at<V>(channel), {}, {}};
    C inverses[V];
    load_values(in.inverse + channel, inverses);
    load_values(dscale + channel, out.slope);
    load_values(doffset + channel, out.shift);
    for (int k = 0; k < V; ++k) {
      out.slope[k] *= inverses[k] * fraction;
      out.shift[k] *= fraction;
    }
    return out;
  }
};

template <int V, class T>
std::unique_ptr<Kernel> kernel_for(const BatchNormGradOptions& o, std::int64_t rows,
                                   std::int64_t channels) {
  using C = compute_type<T>;
  ColumnFold<Taking<Sum>, Pair<C>> fold(1, rows, channels, V);
  ColumnTiles tiles = map_tiles(rows, channels, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    Operands<T> in{.dy = a.input<T>(0),
                   .x = a.input<T>(1),
                   .scale = a.input<C>(2),
                   .mean = a.input<C>(3),
                   .inverse = a.input<C>(4),
                   .y = nullptr,
                   .offset = nullptr,
                   .mask = nullptr,
                   .channels = channels};
    if (o.activation == Activation::relu) {
      if (o.gate == ReluGate::output) in.y = a.input<T>(5);
      if (o.gate == ReluGate::offset) in.offset = a.input<C>(5);
      if (o.gate == ReluGate::mask) in.mask = a.input<std::uint8_t>(5);
    }
    auto *dscale = a.output<C>(1), *doffset = a.output<C>(2);
    fold.template enqueue<V>(stream, in, StoreParameters<C>{in.inverse, dscale, doffset},
                             a.workspace);
    launch(stream, {tiles.blocks(), block_threads}, map_columns<V, InputGradient<T>>,
           InputGradient<T>{in, dscale, doffset, C(1) / static_cast<C>(rows), a.output<T>(0),
                            o.residual ? a.output<T>(3) : nullptr},
           tiles);
  };
  return make_kernel(run, fold.workspace());
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& options = node.as<BatchNormGradOptions>();
  std::int64_t channels = node.input(2).shape()[0];
  std::int64_t rows = node.output().shape.elements() / channels;
  if (options.gate == ReluGate::mask && size_of(node.output().dtype) != 2) return nullptr;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<Kernel> kernel;
    with_columns_at_once<T>(channels,
                            [&](auto v) { kernel = kernel_for<v(), T>(options, rows, channels); });
    return kernel;
  });
}

const KernelRegistration registration(batch_norm_grad_op, make);

}  // namespace
}  // namespace belfry::cuda
