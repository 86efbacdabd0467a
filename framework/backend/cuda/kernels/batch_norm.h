#pragma once
// The elements of a normalised batch. Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels/columns.h"
#include "belfry/framework/backend/cuda/kernels/norm.h"

namespace belfry::cuda {

/// For map_columns, with the statistics of each channel.
template <class T>
struct Normalize {
  using C = compute_type<T>;
  const T *x, *residual;  // the latter null where there is none
  const C *scale, *offset, *mean, *inverse;
  T* y;
  bool relu;

  template <int V>
  struct Channels {
    Normalize of;
    C mean[V], factor[V], offset[V];
    __device__ void apply(std::int64_t place) const {
      C values[V], added[V] = {};
      load_values(of.x + place, values);
      if (of.residual) load_values(of.residual + place, added);
      for (int k = 0; k < V; ++k) {
        values[k] = normalized(values[k], mean[k], factor[k], offset[k]) + added[k];
        if (of.relu) values[k] = functor::Relu::apply<StdMath>(values[k]);
      }
      store_values(of.y + place, values);
    }
  };
  template <int V>
  __device__ Channels<V> at(std::int64_t channel) const {
    Channels<V> channels{*this, {}, {}, {}};
    for (int k = 0; k < V; ++k) {
      channels.mean[k] = mean[channel + k];
      channels.factor[k] = scale[channel + k] * inverse[channel + k];
      channels.offset[k] = offset[channel + k];
    }
    return channels;
  }
};

}  // namespace belfry::cuda
