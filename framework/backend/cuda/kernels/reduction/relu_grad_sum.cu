// The gradient in front of ReLU, and its sums down the columns in the same pass.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/columns.h"
#include "belfry/framework/backend/cuda/kernels/reduction/reduce.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

/// For fold_columns, [rows, columns]. dx may be dy: a thread loads an element before it stores it,
/// and no other thread does.
template <class T>
struct ReluGradients {
  using C = compute_type<T>;
  using Item = typename Sum::template Accumulator<C>;
  const T *dy, *y;
  T* dx;
  std::int64_t columns;

  template <int V>
  struct Loaded {
    Pack<T, V> dy, y;
  };
  template <int V>
  struct Columns {
    ReluGradients of;
    std::int64_t first;
    __device__ Loaded<V> load(std::int64_t row) const {
      std::int64_t at = row * of.columns + first;
      return {load_pack<V>(of.dy + at), load_pack<V>(of.y + at)};
    }
    __device__ void read(std::int64_t row, const Loaded<V>& loaded, Item (&items)[V]) const {
      C gradients[V], outputs[V];
      unpack(loaded.dy, gradients);
      unpack(loaded.y, outputs);
      for (int k = 0; k < V; ++k) {
        gradients[k] = functor::ReluGrad::apply<StdMath>(gradients[k], outputs[k]);
        items[k] = static_cast<Item>(gradients[k]);
      }
      store_values(of.dx + row * of.columns + first, gradients);
    }
  };
  template <int V>
  __device__ Columns<V> at(std::int64_t column) const {
    return {*this, column};
  }
};

template <int V, class T>
std::unique_ptr<Kernel> kernel_for(std::int64_t rows, std::int64_t columns) {
  using C = compute_type<T>;
  using A = typename ReluGradients<T>::Item;
  ColumnFold<Taking<Sum>, A> fold(1, rows, columns, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    ReluGradients<T> gradients{a.input<T>(0), a.input<T>(1), a.output<T>(0), columns};
    fold.template enqueue<V>(stream, gradients, StoreFold<A, C>{a.output<C>(1)}, a.workspace);
  };
  return make_kernel(run, fold.workspace());
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  std::int64_t columns = node.output(1).shape[0];
  std::int64_t rows = columns > 0 ? node.output().shape.elements() / columns : 0;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<Kernel> kernel;
    with_columns_at_once<T>(columns, [&](auto v) { kernel = kernel_for<v(), T>(rows, columns); });
    return kernel;
  });
}

const KernelRegistration registration(relu_grad_sum_op, make);

}  // namespace
}  // namespace belfry::cuda
