// Comparisons, logic and choices.

#include "belfry/framework/backend/cuda/kernels/elementwise.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

const KernelRegistration registrations[] = {
    {equal_op, make_elementwise<functor::Equal>},
    {not_equal_op, make_elementwise<functor::NotEqual>},
    {less_op, make_elementwise<functor::Less>},
    {less_equal_op, make_elementwise<functor::LessEqual>},
    {greater_op, make_elementwise<functor::Greater>},
    {greater_equal_op, make_elementwise<functor::GreaterEqual>},
    {logical_and_op, make_elementwise<functor::LogicalAnd>},
    {logical_or_op, make_elementwise<functor::LogicalOr>},
    {where_op, make_elementwise<functor::Where>}};

}  // namespace
}  // namespace belfry::cuda
