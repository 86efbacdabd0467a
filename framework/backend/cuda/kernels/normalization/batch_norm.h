#pragma once
// The elements of a normalised batch. Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels/normalization/norm.h"
#include "belfry/framework/backend/cuda/kernels/reduction/columns.h"

namespace belfry::cuda {

/// Elements whose signs are a byte of a mask: a thread takes as many of 16 bits at once.
constexpr int mask_bits = 8;

/// For map_columns, with the statistics of each channel.
template <class T>
struct Normalize {
  using C = compute_type<T>;
  const T *x, *residual;  // the latter null where there is none
  const C *scale, *offset, *mean, *inverse;
  T* y;
  std::uint8_t* mask;  // as BatchNormOptions::mask, or null
  std::int64_t channels;
  bool relu;

  template <int V>
  struct Loaded {
    Pack<T, V> x, residual;
  };
  template <int V>
  struct Channels {
    Normalize of;
    std::int64_t first;
    C mean[V], factor[V], offset[V];
    __device__ Loaded<V> load(std::int64_t row) const {
      std::int64_t base = row * of.channels + first;
      Loaded<V> loaded{load_pack<V>(of.x + base), {}};
      if (of.residual) loaded.residual = load_pack<V>(of.residual + base);
      return loaded;
    }
    __device__ void apply(std::int64_t row, const Loaded<V>& loaded) const {
      C values[V], added[V];
      unsigned bits = 0;
      unpack(loaded.x, values);
      unpack(loaded.residual, added);
      for (int k = 0; k < V; ++k) {
        values[k] = normalized(values[k], mean[k], factor[k], offset[k]) + added[k];
        if (of.relu) values[k] = functor::Relu::apply<StdMath>(values[k]);
        if (values[k] > 0) bits |= 1u << k;
      }
      std::int64_t at = row * of.channels + first;
      store_values(of.y + at, values);
      if (V == mask_bits && of.mask) of.mask[at / mask_bits] = static_cast<std::uint8_t>(bits);
    }
  };
  template <int V>
  __device__ Channels<V> at(std::int64_t channel) const {
    Channels<V> out{*this, channel, {}, {}, {}};
    C inverses[V];
    load_values(mean + channel, out.mean);
    load_values(scale + channel, out.factor);
    load_values(inverse + channel, inverses);
    load_values(offset + channel, out.offset);
    for (int k = 0; k < V; ++k) out.factor[k] *= inverses[k];
    return out;
  }
};

}  // namespace belfry::cuda
