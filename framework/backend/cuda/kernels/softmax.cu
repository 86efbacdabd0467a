// softmax and log_softmax along any axis.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

/// An element of the result, from the highest of its line and the sum of exp(x - highest).
template <bool Log, class C>
struct Result {
  C highest, factor;  // or term
  __device__ Result(C line_highest, C sum)
      : highest(line_highest), factor(Log ? std::log(sum) : C(1) / sum) {}
  __device__ C operator()(C x) const {
    return Log ? x - highest - factor : std::exp(x - highest) * factor;
  }
};

// y may be x, here and below.
template <bool Log, int Group, class T>
__global__ void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t length) {
  using C = compute_type<T>;
  std::int64_t row = group_number<Group>();
  if (row >= rows) length = 0, row = 0;
  const T* from = x + row * length;
  C highest = Highest::first<C>(), sum = 0;
  for_each_in_row<Group>(from, length,
                         [&](std::int64_t, C value) { highest = Highest::add(highest, value); });
  highest = reduce_group<Group, Highest>(highest);
  for_each_in_row<Group>(from, length,
                         [&](std::int64_t, C value) { sum += std::exp(value - highest); });
  sum = reduce_group<Group, Sum>(sum);
  Result<Log, C> result(highest, sum);
  map_row<Group>(from, y + row * length, length,
                 [&](std::int64_t, C value) { return result(value); });
}

/// A thread to each line, threads side by side taking elements side by side.
template <bool Log, class T>
__global__ void softmax_lines(const T* x, T* y, std::int64_t lines, std::int64_t length,
                              std::int64_t inner) {
  using C = compute_type<T>;
  std::int64_t line = thread_number();
  if (line >= lines) return;
  std::int64_t start = line / inner * length * inner + line % inner;
  C highest = Highest::first<C>(), sum = 0;
  for (std::int64_t j = 0; j < length; ++j)
    highest = Highest::add(highest, load(x + start + j * inner));
  for (std::int64_t j = 0; j < length; ++j) sum += std::exp(load(x + start + j * inner) - highest);
  Result<Log, C> result(highest, sum);
  for (std::int64_t j = 0; j < length; ++j)
    store(y + start + j * inner, result(load(x + start + j * inner)));
}

template <bool Log, class T>
std::unique_ptr<Kernel> kernel_for(const Node& node) {
  const Shape& x = node.output().shape;
  int axis = node.as<AxisOptions>().axis;
  std::int64_t length = x[axis], inner = 1;
  std::int64_t lines = length == 0 ? 0 : x.elements() / length;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
  if (inner != 1)
    return make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, threads_for(lines), softmax_lines<Log, T>, a.input<T>(0), a.output<T>(0),
             lines, length, inner);
    });
  std::unique_ptr<Kernel> kernel;
  with_group_for(lines, length, [&](auto group) {
    kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, groups<group()>(lines), softmax_rows<Log, group(), T>, a.input<T>(0),
             a.output<T>(0), lines, length);
    });
  });
  return kernel;
}

template <bool Log>
std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch_floating(node.output().dtype, node.op().name,
                           [&](auto t) { return kernel_for<Log, decltype(t)>(node); });
}

const KernelRegistration registrations[] = {{softmax_op, make<false>},
                                            {log_softmax_op, make<true>}};

}  // namespace
}  // namespace belfry::cuda
