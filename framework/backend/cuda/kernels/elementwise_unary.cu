// Functors of one operand.

#include "belfry/framework/backend/cuda/kernels/elementwise.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

const KernelRegistration registrations[] = {
    {neg_op, make_elementwise<functor::Neg>},
    {abs_op, make_elementwise<functor::Abs>},
    {sign_op, make_elementwise<functor::Sign>},
    {floor_op, make_elementwise<functor::Floor>},
    {exp_op, make_elementwise<functor::Exp>},
    {expm1_op, make_elementwise<functor::Expm1>},
    {log_op, make_elementwise<functor::Log>},
    {log1p_op, make_elementwise<functor::Log1p>},
    {sqrt_op, make_elementwise<functor::Sqrt>},
    {rsqrt_op, make_elementwise<functor::Rsqrt>},
    {erf_op, make_elementwise<functor::Erf>},
    {sigmoid_op, make_elementwise<functor::Sigmoid>},
    {tanh_op, make_elementwise<functor::Tanh>},
    {relu_op, make_elementwise<functor::Relu>},
    {logical_not_op, make_elementwise<functor::LogicalNot>}};

}  // namespace
}  // namespace belfry::cuda
