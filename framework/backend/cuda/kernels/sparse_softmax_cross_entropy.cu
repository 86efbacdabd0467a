// The loss of classifiers with its gradient: a group of threads to each row of logits.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <int Group, class T, class Label>
__global__ void cross_entropy(const T* logits, const Label* labels, std::int64_t rows,
                              std::int64_t classes, compute_type<T> smoothing,
                              compute_type<T>* loss, compute_type<T>* log_sums, FaultSite site) {
  using C = compute_type<T>;
  std::int64_t row = group_number<Group>();
  bool active = row < rows;
  if (!active) row = 0;
  const T* x = logits + row * classes;
  C highest = Highest::first<C>(), sum = 0, rest = 0;
  for_each_in_row<Group>(x, classes,
                         [&](std::int64_t, C value) { highest = Highest::add(highest, value); });
  highest = reduce_group<Group, Highest>(highest);
  for_each_in_row<Group>(x, classes,
                         [&](std::int64_t, C value) { sum += std::exp(value - highest); });
  C log_sum = highest + std::log(reduce_group<Group, Sum>(sum));
  if (smoothing != 0) {  // else logits of minus infinity are left alone
    for_each_in_row<Group>(x, classes, [&](std::int64_t, C value) { rest += log_sum - value; });
    rest = reduce_group<Group, Sum>(rest) * smoothing / static_cast<C>(classes);
  }
  if (!active || number_in_group<Group>() != 0) return;
  std::int64_t label = labels[row];
  log_sums[row] = log_sum;
  if (label < 0 || label >= classes) return report(site, row);
  loss[row] = (1 - smoothing) * (log_sum - load(x + label)) + rest;
}

template <int Group, class T, class Label>
__global__ void cross_entropy_grad(const compute_type<T>* dy, const T* logits, const Label* labels,
                                   const compute_type<T>* log_sums, std::int64_t rows,
                                   std::int64_t classes, compute_type<T> smoothing, T* dlogits) {
  using C = compute_type<T>;
  std::int64_t row = group_number<Group>();
  if (row >= rows) return;
  std::int64_t label = labels[row];
  C log_sum = log_sums[row], factor = dy[row], rest = smoothing / static_cast<C>(classes);
  map_row<Group>(logits + row * classes, dlogits + row * classes, classes,
                 [&](std::int64_t j, C value) {
                   C target = (j == label ? 1 - smoothing : C(0)) + rest;
                   return (std::exp(value - log_sum) - target) * factor;
                 });
}

/// As with_group_for(), with a thread to each of many short rows: the voxels of a volume.
template <class F>
void with_group_for_classes(std::int64_t rows, std::int64_t classes, F f) {
  if (classes <= 16 && rows >= 4096) {
    f(std::integral_constant<int, 1>());
  } else {
    with_group_for(rows, classes, f);
  }
}

template <class T, class Label>
std::unique_ptr<Kernel> make_loss(const Node& node, const Gpu& gpu) {
  using C = compute_type<T>;
  const Shape& logits = node.input(0).shape();
  std::int64_t rows = logits[0], classes = logits[1];
  auto smoothing = static_cast<C>(node.as<CrossEntropyOptions>().label_smoothing);
  auto reporter = gpu.faults.add("sparse_softmax_cross_entropy: the label at row ",
                                 concat(" is outside 0..", classes - 1));
  std::unique_ptr<Kernel> kernel;
  with_group_for_classes(rows, classes, [&](auto group) {
    kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, groups<group()>(rows), cross_entropy<group(), T, Label>, a.input<T>(0),
             a.input<Label>(1), rows, classes, smoothing, a.output<C>(0), a.output<C>(1),
             reporter->site(a));
    });
  });
  return kernel;
}

template <class T, class Label>
std::unique_ptr<Kernel> make_grad(const Node& node, const Gpu&) {
  using C = compute_type<T>;
  const Shape& logits = node.output().shape;
  std::int64_t rows = logits[0], classes = logits[1];
  auto smoothing = static_cast<C>(node.as<CrossEntropyOptions>().label_smoothing);
  std::unique_ptr<Kernel> kernel;
  with_group_for_classes(rows, classes, [&](auto group) {
    kernel = make_kernel([=](const KernelArguments& a, Stream& stream) {
      launch(stream, groups<group()>(rows), cross_entropy_grad<group(), T, Label>, a.input<C>(0),
             a.input<T>(1), a.input<Label>(2), a.input<C>(3), rows, classes, smoothing,
             a.output<T>(0));
    });
  });
  return kernel;
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  bool grad = node.is(sparse_softmax_cross_entropy_grad_op);
  DType labels = node.input(grad ? 2 : 1).dtype();
  return dispatch_floating(node.input(grad ? 1 : 0).dtype(), node.op().name, [&](auto t) {
    using T = decltype(t);
    auto with_labels = [&](auto label) {
      using Label = decltype(label);
      return grad ? make_grad<T, Label>(node, gpu) : make_loss<T, Label>(node, gpu);
    };
    return labels == DType::i32 ? with_labels(std::int32_t{}) : with_labels(std::int64_t{});
  });
}

const KernelRegistration registrations[] = {{sparse_softmax_cross_entropy_def, make},
                                            {sparse_softmax_cross_entropy_grad_op, make}};

}  // namespace
}  // namespace belfry::cuda
