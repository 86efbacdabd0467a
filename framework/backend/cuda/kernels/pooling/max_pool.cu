// max_pool, its gradient and that one's: the index of the winner says where each output came from.

#include "belfry/framework/backend/cuda/kernels/pooling/pool.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <int V, class T, class Index>
__global__ void pool_maxima(Pool pool, const T* x, T* y, Index* index, std::int64_t count) {
  using C = compute_type<T>;
  std::int64_t i = thread_number() * V;
  if (i >= count) return;
  PoolPosition at = output_position(pool, i);
  Range rows = pool.rows.inputs(at.row), columns = pool.columns.inputs(at.column);
  int first_row = pool.rows.start(at.row), first_column = pool.columns.start(at.column);
  C best[V] = {};
  int winner[V];
  for (int k = 0; k < V; ++k) winner[k] = -1;
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column) {
      C values[V];
      load_values(x + pool.input_at(at.n, row, column) + at.channel, values);
      int position = (row - first_row) * pool.columns.window + column - first_column;
      for (int k = 0; k < V; ++k) {
        // NaN is the largest of all, the first of equals wins.
        bool wins = values[k] > best[k] || (values[k] != values[k] && best[k] == best[k]);
        if (winner[k] < 0 || wins) best[k] = values[k], winner[k] = position;
      }
    }
  Pack<Index, V> winners;
  for (int k = 0; k < V; ++k) winners.values[k] = static_cast<Index>(winner[k]);
  store_values(y + i, best);
  store_pack<V>(index + i, winners);
}

/// The gradients of all windows that an element has won.
template <int V, class T, class Index>
__global__ void pool_maxima_grad(Pool pool, const T* dy, const Index* index, T* dx,
                                 std::int64_t count) {
  using C = compute_type<T>;
  std::int64_t i = thread_number() * V;
  if (i >= count) return;
  PoolPosition at = input_position(pool, i);
  Range rows = pool.rows.outputs(at.row), columns = pool.columns.outputs(at.column);
  C sums[V] = {};
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column) {
      std::int64_t from = pool.output_at(at.n, row, column) + at.channel;
      int position = (at.row - pool.rows.start(row)) * pool.columns.window + at.column
                     - pool.columns.start(column);
      C gradients[V];
      load_values(dy + from, gradients);
      auto winners = load_pack<V>(index + from);
      for (int k = 0; k < V; ++k)
        if (winners.values[k] == position) sums[k] += gradients[k];
    }
  store_values(dx + i, sums);
}

template <class T, class Index>
__global__ void gather_winners(Pool pool, const T* x, const Index* index, T* y, std::int64_t count,
                               FaultSite site) {
  std::int64_t i = thread_number();
  if (i >= count) return;
  PoolPosition at = output_position(pool, i);
  int position = index[i];
  int row = pool.rows.start(at.row) + position / pool.columns.window;
  int column = pool.columns.start(at.column) + position % pool.columns.window;
  bool inside = row >= 0 && row < pool.rows.in && column >= 0 && column < pool.columns.in;
  if (!inside) return report(site, i);
  y[i] = x[pool.input_at(at.n, row, column) + at.channel];
}

/// Calls f(T{}, Index{}, pool); null for what pool_for() does not have.
template <class F>
std::unique_ptr<Kernel> with_types(const Node& node, const PoolGeometry& g, F f) {
  std::optional<Pool> pool = pool_for(g);
  if (!pool) return nullptr;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    return g.index_type() == DType::u8 ? f(t, std::uint8_t{}, *pool) : f(t, std::int32_t{}, *pool);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  PoolGeometry g = pool_geometry(node.op().name, node.input(0).shape(), node.as<Pool2dOptions>());
  return with_types(node, g, [&](auto t, auto at, const Pool& pool) {
    using T = decltype(t);
    using Index = decltype(at);
    std::int64_t count = pool.output_elements();
    std::unique_ptr<Kernel> kernel;
    with_channels_at_once<T>(pool, [&](auto v) {
      kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
        launch(stream, threads_for(count, v()), pool_maxima<v(), T, Index>, pool, a.input<T>(0),
               a.output<T>(0), a.output<Index>(1), count);
      });
    });
    return kernel;
  });
}

std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<PoolGradOptions>();
  PoolGeometry g =
      pool_grad_geometry(node.op().name, node.input(0).shape(), o.window, o.input_size);
  return with_types(node, g, [&](auto t, auto at, const Pool& pool) {
    using T = decltype(t);
    using Index = decltype(at);
    std::int64_t count = pool.input_elements();
    std::unique_ptr<Kernel> kernel;
    with_channels_at_once<T>(pool, [&](auto v) {
      kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
        launch(stream, threads_for(count, v()), pool_maxima_grad<v(), T, Index>, pool,
               a.input<T>(0), a.input<Index>(1), a.output<T>(0), count);
      });
    });
    return kernel;
  });
}

std::unique_ptr<Kernel> make_gather(const Node& node, const Gpu& gpu, const KernelOptions&) {
  PoolGeometry g = pool_geometry(node.op().name, node.input(0).shape(), node.as<Pool2dOptions>());
  auto reporter = gpu.faults.add("max_pool_gather: the index at element ",
                                 concat(" of ", g.output(), " is outside the image"));
  return with_types(node, g, [&](auto t, auto at, const Pool& pool) {
    using T = decltype(t);
    using Index = decltype(at);
    std::int64_t count = pool.output_elements();
    return make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, threads_for(count), gather_winners<T, Index>, pool, a.input<T>(0),
             a.input<Index>(1), a.output<T>(0), count, reporter->site(a));
    });
  });
}

const KernelRegistration registrations[] = {
    {max_pool_op, make}, {max_pool_grad_op, make_grad}, {max_pool_gather_op, make_gather}};

}  // namespace
}  // namespace belfry::cuda
