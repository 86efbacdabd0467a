// Functors of one operand.

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"

namespace belfry::cuda {
namespace {

template <class F>
using Unary = std::bool_constant<F::arity == 1>;

const bool registered = register_elementwise<Unary>();

}  // namespace
}  // namespace belfry::cuda
