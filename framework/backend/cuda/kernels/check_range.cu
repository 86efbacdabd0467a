#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/check_range.h"

namespace belfry::cuda {
namespace {

template <class T>
__global__ void check_range(const T* x, const double* lowest, const double* highest, T* y,
                            RangeLayout layout, std::int64_t count, FaultSite site) {
  std::int64_t i = thread_number();
  if (i >= count) return;
  double value = load(x + i);
  if (!(value >= lowest[i * layout.lowest_step] && value <= highest[i * layout.highest_step]))
    report(site, i / layout.row);
  y[i] = x[i];
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  const auto& o = node.as<CheckRangeOptions>();
  std::int64_t count = node.output().shape.elements();
  auto reporter =
      gpu.faults.add(concat(o.what, " at row "), concat(" is out of range; ", o.remedy));
  return dispatch(node.output().dtype, [&](auto t) {
    using T = decltype(t);
    return make_kernel([=, layout = RangeLayout(node)](const KernelArguments& a, Stream& stream) {
      launch(stream, threads_for(count), check_range<T>, a.input<T>(0), a.input<double>(1),
             a.input<double>(2), a.output<T>(0), layout, count, reporter->site(a));
    });
  });
}

const KernelRegistration registration(check_range_op, make);

}  // namespace
}  // namespace belfry::cuda
