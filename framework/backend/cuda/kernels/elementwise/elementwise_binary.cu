// Arithmetic on two operands.

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"

namespace belfry::cuda {
namespace {

// Divisors that are 0, which have no quotient among whole numbers.
template <class T>
__global__ void find_zero(const T* divisors, std::int64_t count, FaultSite site) {
  std::int64_t i = thread_number();
  if (i < count && divisors[i] == T(0)) report(site, i);
}

std::unique_ptr<Kernel> make_div(const Node& node, const Gpu& gpu, const KernelOptions& options) {
  std::shared_ptr<Kernel> divide = make_elementwise<functor::Div>(node, gpu, options);
  const TensorType& divisor = node.input(1).type();
  return dispatch(divisor.dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      std::int64_t count = node.output().shape.elements() == 0 ? 0 : divisor.shape.elements();
      auto reporter = gpu.faults.add("div: division by zero: element ",
                                     concat(" of the divisor ", divisor, " is 0"));
      return make_kernel([=](const KernelArguments& a, Stream& stream) {
        launch(stream, threads_for(count), find_zero<T>, a.input<T>(1), count, reporter->site(a));
        divide->run(a, stream);
      });
    } else {
      return make_elementwise<functor::Div>(node, gpu, options);
    }
  });
}

template <class F>
using Arithmetic =
    std::bool_constant<F::arity == 2 && !gives_bool<F> && !std::is_same_v<F, functor::Div>>;

const bool registered = register_elementwise<Arithmetic>();
const KernelRegistration division(functor::Div::op, make_div);

}  // namespace
}  // namespace belfry::cuda
