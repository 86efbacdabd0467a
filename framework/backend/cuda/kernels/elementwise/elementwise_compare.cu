// Comparisons, logic on two operands, and choices.

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"

namespace belfry::cuda {
namespace {

template <class F>
using Choice = std::bool_constant<F::arity == 3 || (F::arity == 2 && gives_bool<F>)>;

const bool registered = register_elementwise<Choice>();

}  // namespace
}  // namespace belfry::cuda
