// avg_pool and its gradient: averages over the elements inside the image alone.

#include "belfry/framework/backend/cuda/kernels/pooling/pool.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <int V, class T>
__global__ void pool_averages(Pool pool, const T* x, T* y, std::int64_t count) {
  using C = compute_type<T>;
  std::int64_t i = thread_number() * V;
  if (i >= count) return;
  PoolPosition at = output_position(pool, i);
  Range rows = pool.rows.inputs(at.row), columns = pool.columns.inputs(at.column);
  C sums[V] = {};
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column) {
      C values[V];
      load_values(x + pool.input_at(at.n, row, column) + at.channel, values);
      for (int k = 0; k < V; ++k) sums[k] += values[k];
    }
  for (int k = 0; k < V; ++k) sums[k] /= static_cast<C>(rows.size() * columns.size());
  store_values(y + i, sums);
}

/// The shares of all windows that hold an element.
template <int V, class T>
__global__ void pool_averages_grad(Pool pool, const T* dy, T* dx, std::int64_t count) {
  using C = compute_type<T>;
  std::int64_t i = thread_number() * V;
  if (i >= count) return;
  PoolPosition at = input_position(pool, i);
  Range rows = pool.rows.outputs(at.row), columns = pool.columns.outputs(at.column);
  C sums[V] = {};
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column) {
      C gradients[V];
      load_values(dy + pool.output_at(at.n, row, column) + at.channel, gradients);
      int elements = pool.rows.inputs(row).size() * pool.columns.inputs(column).size();
      for (int k = 0; k < V; ++k) sums[k] += gradients[k] / static_cast<C>(elements);
    }
  store_values(dx + i, sums);
}

std::unique_ptr<Kernel> kernel_for(const Node& node, const PoolGeometry& geometry, bool grad) {
  std::optional<Pool> found = pool_for(geometry);
  if (!found) return nullptr;
  return dispatch_floating(node.output().dtype, node.op().name, [&, pool = *found](auto t) {
    using T = decltype(t);
    std::int64_t count = node.output().shape.elements();
    std::unique_ptr<Kernel> kernel;
    with_channels_at_once<T>(pool, [&](auto v) {
      kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
        launch(stream, threads_for(count, v()),
               grad ? pool_averages_grad<v(), T> : pool_averages<v(), T>, pool, a.input<T>(0),
               a.output<T>(0), count);
      });
    });
    return kernel;
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return kernel_for(
      node, pool_geometry(node.op().name, node.input(0).shape(), node.as<Pool2dOptions>()), false);
}

std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<PoolGradOptions>();
  return kernel_for(
      node, pool_grad_geometry(node.op().name, node.input(0).shape(), o.window, o.input_size),
      true);
}

const KernelRegistration registrations[] = {{avg_pool_op, make}, {avg_pool_grad_op, make_grad}};

}  // namespace
}  // namespace belfry::cuda
