// cast, of each type to each.

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/cast.h"

namespace belfry::cuda {
namespace {

template <class To>
struct Cast : functor::Functor<1, Domain::any> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static compute_type<To> apply(T x) {
    return convert<compute_type<To>>(x);
  }
};

template <class From, class To>
std::unique_ptr<Kernel> kernel(std::int64_t count) {
  return make_kernel([count](const KernelArguments& a, Stream& stream) {
    launch(stream, threads_for(count, flat_each<From>), elementwise_flat<Cast<To>, From, To>,
           Addresses<1>{{a.inputs[0]}}, Steps<1>{{1}}, a.output<To>(0), count);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.input(0).dtype(), [&](auto from) {
    return dispatch(node.output().dtype, [&](auto to) {
      return kernel<decltype(from), decltype(to)>(node.output().shape.elements());
    });
  });
}

const KernelRegistration registration(cast_op, make);

}  // namespace
}  // namespace belfry::cuda
