// The gradients of batch normalisation: two sums down each channel, then the elements. Those of
// ReLU and of a residual cost no launch of their own.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/columns.h"
#include "belfry/framework/backend/cuda/kernels/norm.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

/// Of V channels.
template <class C, int V>
struct Affine {
  C mean[V], factor[V], offset[V];  // the last unset where y need not be computed
};

/// The operands, [rows, channels] and [channels].
template <class T>
struct Operands {
  using C = compute_type<T>;
  using Item = Pair<C>;
  const T *dy, *x, *y;  // y is null without an activation, and where it is computed again
  const C *scale, *mean, *inverse, *offset;  // the last null where y need not be computed
  std::int64_t channels;

  template <int V>
  __device__ Affine<C, V> affine(std::int64_t channel) const {
    Affine<C, V> out;
    for (int k = 0; k < V; ++k) {
      out.mean[k] = mean[channel + k];
      out.factor[k] = scale[channel + k] * inverse[channel + k];
      if (offset) out.offset[k] = offset[channel + k];
    }
    return out;
  }
  /// dy before the activation, and x, of V elements.
  template <int V>
  __device__ void load(std::int64_t place, const Affine<C, V>& affine, C (&gradients)[V],
                       C (&values)[V]) const {
    load_values(dy + place, gradients);
    load_values(x + place, values);
    if (!y && !offset) return;
    C outputs[V];
    if (y) load_values(y + place, outputs);
    for (int k = 0; k < V; ++k) {
      if (!y)
        outputs[k] = normalized(values[k], affine.mean[k], affine.factor[k], affine.offset[k]);
      gradients[k] = functor::ReluGrad::apply<StdMath>(gradients[k], outputs[k]);
    }
  }
  /// For fold_columns: dy (x - mean), and dy.
  template <int V>
  __device__ void read(std::int64_t row, std::int64_t channel, Item (&items)[V]) const {
    C gradients[V], values[V];
    Affine<C, V> of_channels{};
    if (offset) of_channels = affine<V>(channel);  // read for every row, so only where it is used
    load(row * channels + channel, of_channels, gradients, values);
    for (int k = 0; k < V; ++k)
      items[k] = {gradients[k] * (values[k] - mean[channel + k]), gradients[k]};
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
  C count;
  T *dx, *dresidual;  // the latter null where there is none

  template <int V>
  struct Channels {
    InputGradient of;
    Affine<C, V> affine;
    C slope[V], shift[V];
    __device__ void apply(std::int64_t place) const {
      C gradients[V], values[V];
      of.in.load(place, affine, gradients, values);
      for (int k = 0; k < V; ++k)
        values[k] =
            affine.factor[k] * (gradients[k] - shift[k] - (values[k] - affine.mean[k]) * slope[k]);
      store_values(of.dx + place, values);
      if (of.dresidual) store_values(of.dresidual + place, gradients);
    }
  };
  template <int V>
  __device__ Channels<V> at(std::int64_t channel) const {
    Channels<V> channels{*this, in.template affine<V>(channel), {}, {}};
    for (int k = 0; k < V; ++k) {
      channels.slope[k] = in.inverse[channel + k] * dscale[channel + k] / count;
      channels.shift[k] = doffset[channel + k] / count;
    }
    return channels;
  }
};

template <int V, class T>
std::unique_ptr<Kernel> kernel_for(const BatchNormGradOptions& o, std::int64_t rows,
                                   std::int64_t channels) {
  using C = compute_type<T>;
  ColumnFold<Taking<Sum>, Pair<C>> fold(1, rows, channels, V);
  ColumnTiles tiles = map_tiles(rows, channels, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    bool relu = o.activation == Activation::relu;
    Operands<T> in{static_cast<const T*>(a.inputs[0]),
                   static_cast<const T*>(a.inputs[1]),
                   relu && !o.recompute ? static_cast<const T*>(a.inputs[5]) : nullptr,
                   static_cast<const C*>(a.inputs[2]),
                   static_cast<const C*>(a.inputs[3]),
                   static_cast<const C*>(a.inputs[4]),
                   relu && o.recompute ? static_cast<const C*>(a.inputs[5]) : nullptr,
                   channels};
    auto *dscale = static_cast<C*>(a.outputs[1]), *doffset = static_cast<C*>(a.outputs[2]);
    fold.template enqueue<V>(stream, in, StoreParameters<C>{in.inverse, dscale, doffset},
                             a.workspace);
    launch(
        stream, {tiles.blocks(), block_threads}, map_columns<V, InputGradient<T>>,
        InputGradient<T>{in, dscale, doffset, static_cast<C>(rows), static_cast<T*>(a.outputs[0]),
                         o.residual ? static_cast<T*>(a.outputs[3]) : nullptr},
        tiles);
  };
  return make_kernel(run, fold.workspace());
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& options = node.as<BatchNormGradOptions>();
  std::int64_t channels = node.input(2).shape()[0];
  std::int64_t rows = node.output().shape.elements() / channels;
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
