// Layer normalisation with its gradient: a group of threads to each row, and the gradients of the
// parameters by columns.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/normalization/norm.h"
#include "belfry/framework/backend/cuda/kernels/reduction/columns.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <int Group, class T, class C>
__global__ void normalize_rows(const T* x, const C* scale, const C* offset, std::int64_t rows,
                               std::int64_t channels, double epsilon, T* y, C* means, C* inverses) {
  std::int64_t row = group_number<Group>();
  bool active = row < rows;
  std::int64_t length = active ? channels : 0, start = active ? row * channels : 0;
  C sum = 0, squares = 0;
  for_each_in_row<Group>(x + start, length, [&](std::int64_t, C value) { sum += value; });
  C mean = reduce_group<Group, Sum>(sum) / static_cast<C>(channels);
  for_each_in_row<Group>(x + start, length, [&](std::int64_t, C value) {
    squares += (value - mean) * (value - mean);
  });
  C variance = reduce_group<Group, Sum>(squares) / static_cast<C>(channels);
  C inverse = inverse_deviation(variance, epsilon);
  map_row<Group>(x + start, y + start, length, [&](std::int64_t k, C value) {
    return (value - mean) * inverse * scale[k] + offset[k];
  });
  if (!active || number_in_group<Group>() != 0) return;
  means[row] = mean;
  inverses[row] = inverse;
}

/// The operands of the gradient.
template <class T>
struct Rows {
  using C = compute_type<T>;
  using Item = Pair<C>;
  const T *dy, *x;
  const C *scale, *mean, *inverse;
  std::int64_t rows, channels;

  /// For fold_columns: what an element adds to the gradients of scale and offset.
  template <int V>
  struct Loaded {
    Pack<T, V> dy, x;
  };
  template <int V>
  struct Columns {
    Rows of;
    std::int64_t first;
    __device__ Loaded<V> load(std::int64_t row) const {
      std::int64_t base = row * of.channels + first;
      return {load_pack<V>(of.dy + base), load_pack<V>(of.x + base)};
    }
    __device__ void read(std::int64_t row, const Loaded<V>& loaded, Item (&items)[V]) const {
      C gradients[V], values[V];
      unpack(loaded.dy, gradients);
      unpack(loaded.x, values);
      C mean = of.mean[row], inverse = of.inverse[row];
      for (int k = 0; k < V; ++k)
        items[k] = {gradients[k] * (values[k] - mean) * inverse, gradients[k]};
    }
  };
  template <int V>
  __device__ Columns<V> at(std::int64_t column) const {
    return {*this, column};
  }
};

template <class C>
struct StoreParameters {
  C *dscale, *doffset;
  __device__ void operator()(std::int64_t channel, Pair<C> sums) const {
    dscale[channel] = sums.a;
    doffset[channel] = sums.b;
  }
};

// dx may be dy.
template <int Group, class T>
__global__ void input_gradient(Rows<T> of, T* dx) {
  using C = compute_type<T>;
  std::int64_t row = group_number<Group>();
  bool active = row < of.rows;
  if (!active) row = 0;
  std::int64_t length = active ? of.channels : 0, start = row * of.channels;
  C mean = of.mean[row], inverse = of.inverse[row];
  auto normal = [&](std::int64_t k) { return (load(of.x + start + k) - mean) * inverse; };
  Pair<C> sums{0, 0};
  for_each_in_row<Group>(of.dy + start, length, [&](std::int64_t k, C gradient) {
    gradient *= of.scale[k];
    sums = sums + Pair<C>{gradient, gradient * normal(k)};
  });
  sums = reduce_group<Group, Sum>(sums);
  C channels = static_cast<C>(of.channels);
  map_row<Group>(of.dy + start, dx + start, length, [&](std::int64_t k, C gradient) {
    return inverse * (gradient * of.scale[k] - (sums.a + normal(k) * sums.b) / channels);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  std::int64_t channels = node.input(1).shape()[0], rows = node.outputs()[1].shape.elements();
  double epsilon = node.as<LayerNormOptions>().epsilon;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    using C = compute_type<T>;
    std::unique_ptr<Kernel> kernel;
    with_group_for(rows, channels, [&](auto group) {
      kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
        launch(stream, groups<group()>(rows), normalize_rows<group(), T, C>, a.input<T>(0),
               a.input<C>(1), a.input<C>(2), rows, channels, epsilon, a.output<T>(0),
               a.output<C>(1), a.output<C>(2));
      });
    });
    return kernel;
  });
}

template <int Group, int V, class T>
std::unique_ptr<Kernel> grad_kernel(std::int64_t rows, std::int64_t channels) {
  using C = compute_type<T>;
  ColumnFold<Taking<Sum>, Pair<C>> fold(1, rows, channels, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    Rows<T> of{a.input<T>(0), a.input<T>(1), a.input<C>(2), a.input<C>(3),
               a.input<C>(4), rows,          channels};
    StoreParameters<C> out{a.output<C>(1), a.output<C>(2)};
    fold.template enqueue<V>(stream, of, out, a.workspace);
    launch(stream, groups<Group>(rows), input_gradient<Group, T>, of,
           a.output<T>(0));  // last, for it may overwrite dy
  };
  return make_kernel(run, fold.workspace());
}

std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&, const KernelOptions&) {
  std::int64_t channels = node.input(2).shape()[0], rows = node.input(3).shape().elements();
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<Kernel> kernel;
    with_group_for(rows, channels, [&](auto group) {
      with_columns_at_once<T>(
          channels, [&](auto v) { kernel = grad_kernel<group(), v(), T>(rows, channels); });
    });
    return kernel;
  });
}

const KernelRegistration registrations[] = {{layer_norm_op, make}, {layer_norm_grad_op, make_grad}};

}  // namespace
}  // namespace belfry::cuda
