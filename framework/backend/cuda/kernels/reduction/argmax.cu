// Where the largest or smallest element lies along an axis.

#include <functional>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

template <class C>
struct Candidate {
  C value;
  std::int64_t index;
  template <class F>
  __device__ Candidate each(F f) const {
    return {f(value), f(index)};
  }
};

struct More {
  template <class C>
  static __device__ bool better(C a, C b) {
    return a > b;
  }
};
struct Less {
  template <class C>
  static __device__ bool better(C a, C b) {
    return a < b;
  }
};

/// The better of two, NaN before any number; of equals the first.
template <class Order>
struct Best {
  template <class C>
  static __device__ Candidate<C> add(Candidate<C> a, Candidate<C> b) {
    bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
    if (Order::better(a.value, b.value)) return a;
    if (Order::better(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
};

template <class Order, int Group, class T>
__global__ void argmax_rows(const T* x, std::int64_t rows, std::int64_t length, std::int64_t* out) {
  using Of = Candidate<compute_type<T>>;
  std::int64_t row = group_number<Group>();
  bool active = row < rows;
  Of best{load(x + (active ? row * length : 0)), 0};
  if (active)
    for_each_in_row<Group>(x + row * length, length, [&](std::int64_t j, auto value) {
      best = Best<Order>::add(best, Of{value, j});
    });
  best = reduce_group<Group, Best<Order>>(best);
  if (active && number_in_group<Group>() == 0) out[row] = best.index;
}

/// A thread to each line, threads side by side reading elements side by side.
template <class Order, class T>
__global__ void argmax_lines(const T* x, std::int64_t lines, std::int64_t length,
                             std::int64_t inner, std::int64_t* out) {
  using Of = Candidate<compute_type<T>>;
  std::int64_t line = thread_number();
  if (line >= lines) return;
  const T* at = x + line / inner * length * inner + line % inner;
  Of best{load(at), 0};
  for (std::int64_t j = 1; j < length; ++j)
    best = Best<Order>::add(best, Of{load(at + j * inner), j});
  out[line] = best.index;
}

template <class Order, class T>
std::unique_ptr<Kernel> kernel_for(const Node& node) {
  const Shape& x = node.input(0).shape();
  int axis = node.as<AxisOptions>().axis;
  std::int64_t length = x[axis], lines = node.output().shape.elements(), inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
  if (inner != 1)
    return make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, threads_for(lines), argmax_lines<Order, T>, a.input<T>(0), lines, length,
             inner, a.output<std::int64_t>(0));
    });
  std::unique_ptr<Kernel> kernel;
  with_group_for(lines, length, [&](auto group) {
    kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, groups<group()>(lines), argmax_rows<Order, group(), T>, a.input<T>(0), lines,
             length, a.output<std::int64_t>(0));
    });
  });
  return kernel;
}

template <class Order>
std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.input(0).dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else {
      return kernel_for<Order, T>(node);
    }
  });
}

const KernelRegistration registrations[] = {{argmax_op, make<More>}, {argmin_op, make<Less>}};

}  // namespace
}  // namespace belfry::cuda
